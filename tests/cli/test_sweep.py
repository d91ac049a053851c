"""`sonde sweep`, from the command line to the files, on a tiny model."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from huggingface_hub import constants

import sonde as package
from sonde import LayerRange, Model, Span, Sweep
from sonde.results import files
from sonde.results.pen import Pen
from sonde.results.terminal import render
from sonde.schema import Estimate
from tests.cli.shell import refusal, sonde

CLEAN = "The Eiffel Tower is in the city of"
CORRUPT = "The Colosseum is in the city of"
SUFFIXES = [suffix for suffix in files.SUFFIXES if suffix != ".tex"]
"""A table for papers is of sweeps over pairs."""
PROMPTS = ("--clean", CLEAN, "--corrupt", CORRUPT, "--answer", " Paris")


@pytest.fixture(scope="module")
def model(tiny: Path) -> Model:
    return package.load(str(tiny), device="cpu")


@pytest.fixture
def sweep(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Shell":
    monkeypatch.chdir(tmp_path)
    return Shell(tiny)


class Shell:
    """`sonde sweep` on the tiny model, in an empty directory."""

    def __init__(self, tiny: Path) -> None:
        self.tiny = tiny

    def __call__(self, *arguments: object) -> Result:
        return sonde("sweep", "--model", self.tiny, "--device", "cpu", *PROMPTS, *arguments)

    def result(self, *arguments: object) -> Sweep:
        """What `--json` prints, read back."""
        result = self(*arguments, "--json")
        assert result.exit_code == 0, result.output
        return Sweep.from_json(result.stdout)


def same(one: Sweep, other: Sweep) -> bool:
    """The same axes and, bit for bit, the same numbers."""
    assert (one.layers, one.positions, one.hooks) == (other.layers, other.positions, other.hooks)
    assert one.metric == other.metric
    assert (one.clean, one.corrupt) == (other.clean, other.corrupt)
    return all(np.array_equal(one.grids[h], other.grids[h], equal_nan=True) for h in one.hooks)


def test_the_heatmap_is_printed_and_progress_is_kept_apart(sweep: Shell) -> None:
    result = sweep()
    assert result.exit_code == 0
    for part in ("post_block", "strongest sites", "noise floor", "cells/s", CLEAN, CORRUPT):
        assert part in result.stdout
    assert "\x1b" not in result.stdout
    assert result.stderr.startswith(f"loading {sweep.tiny}\nloaded {sweep.tiny}")
    assert len(result.stderr.splitlines()) == 2


def test_json_is_the_python_apis_result(sweep: Shell, model: Model) -> None:
    printed = sweep("--json").stdout
    assert json.loads(printed)["format"] == "sonde.sweep.2"
    direct = model.sweep(clean=CLEAN, corrupt=CORRUPT, answer=" Paris")
    assert same(Sweep.from_json(printed), direct)


def test_hooks_layers_positions_and_metrics(sweep: Shell, model: Model) -> None:
    printed = sweep.result(
        "--hooks", "mlp_out,post_block", "--layers", "::1", "--positions", "span:city,2",
        "--metric", "recovered", "--metric", "logit_diff", "--foil", " Rome",
    )  # fmt: skip
    direct = model.sweep(
        clean=CLEAN,
        corrupt=CORRUPT,
        answer=" Paris",
        foil=" Rome",
        hooks=["mlp_out", "post_block"],
        layers=LayerRange(start=0, stop=2),
        positions=[Span("city"), 2],
        metric="recovered",
        metrics=["logit_diff"],
    )
    assert same(printed, direct)
    assert list(printed.metric_grids) == ["recovered", "logit_diff"]


def test_all_hooks(sweep: Shell, model: Model) -> None:
    assert sweep.result("--hooks", "all", "--layers", "1").hooks == model.describe().layer_hooks


def test_alpha_mask_and_pairing(sweep: Shell, model: Model) -> None:
    printed = sweep.result("--alpha", "0.5", "--mask", "0:4,7", "--pairing", "last")
    direct = model.sweep(
        clean=CLEAN,
        corrupt=CORRUPT,
        answer=" Paris",
        alpha=0.5,
        mask={"indices": [0, 1, 2, 3, 7]},
        pairing="last",
    )
    assert same(printed, direct)


def test_source_positions(sweep: Shell, model: Model) -> None:
    printed = sweep.result("--positions", "1,2", "--source-positions", "span:Tower,3")
    direct = model.sweep(
        clean=CLEAN, corrupt=CORRUPT, answer=" Paris", positions=[1, 2], source_positions=[2, 3]
    )
    assert same(printed, direct)


def test_an_ablation(tiny: Path, model: Model) -> None:
    result = sonde("sweep", "--pair", "eiffel", "--ablate", "zeros", "--model", tiny, "--json")
    direct = model.sweep(corrupt=CORRUPT, answer=" Paris", foil=" Rome", source_module="zeros")
    assert same(Sweep.from_json(result.stdout), direct)


def test_an_answer_by_its_id(tiny: Path, model: Model) -> None:
    (paris,) = model.backend.tokenize(" Paris", special=False)
    arguments = ("--pair", "eiffel", "--model", tiny, "--answer-token-id", paris, "--json")
    direct = model.sweep(clean=CLEAN, corrupt=CORRUPT, answer=paris)
    assert same(Sweep.from_json(sonde("sweep", *arguments).stdout), direct)


def test_positions_together_are_drawn_as_one_column(sweep: Shell, model: Model) -> None:
    printed = sweep.result("--positions", "together", "--hooks", "post_block,mlp_out")
    direct = model.sweep(
        clean=CLEAN, corrupt=CORRUPT, answer=" Paris", positions="together",
        hooks=["post_block", "mlp_out"],
    )  # fmt: skip
    assert same(printed, direct)
    assert printed.grids["mlp_out"].shape == (2,)
    saves = [word for suffix in SUFFIXES for word in ("--save", f"out{suffix}")]
    drawn = sweep("--positions", "together", *saves)
    assert drawn.exit_code == 0, drawn.output
    assert "layer   1" in drawn.stdout
    strongest = drawn.stdout.partition("strongest sites\n")[2].splitlines()[0]
    assert "post_block" in strongest
    assert "position" not in strongest
    assert Path("out.csv").read_text().startswith('"hook","layer","metric","value"\n')


def test_further_metrics_and_several_answers_of_several_tokens(sweep: Shell, model: Model) -> None:
    metrics = ["prob", "kl_clean", "kl_corrupt", "rank", "top1"]
    options = [word for metric in metrics for word in ("--metric", metric)]
    printed = sweep.result(*options, "--answer", " Atlantis", "--foil", " Rome", "--foil", " x")
    direct = model.sweep(
        clean=CLEAN, corrupt=CORRUPT, answer=[" Paris", " Atlantis"], foil=[" Rome", " x"],
        metric="prob", metrics=metrics[1:],
    )  # fmt: skip
    assert same(printed, direct)
    assert printed.metrics == metrics
    for metric in printed.metrics:
        one, other = printed.values(metric), direct.values(metric)
        assert np.array_equal(one["post_block"], other["post_block"])
    text = sweep(*options, "--answer", " Atlantis").stdout
    assert "probability of “·Paris”" in text  # and more, where the line has room
    assert "several tokens, each graded after those before it" in " ".join(text.split())


def test_an_estimate_is_of_the_sweep_that_is_asked_for(sweep: Shell) -> None:
    asked = ("--positions", "together", "--answer", " Atlantis", "--estimate", "--json")
    assert Estimate.model_validate_json(sweep(*asked).stdout).cells == 2


def test_a_small_memory_budget_gives_the_same_numbers(sweep: Shell) -> None:
    assert same(sweep.result("--memory-budget", "64KiB"), sweep.result())


def test_every_format_is_saved(sweep: Shell) -> None:
    saves = [word for suffix in SUFFIXES for word in ("--save", f"out{suffix}")]
    result = sweep("--layers", "0", "--json", *saves)
    assert result.exit_code == 0
    printed = Sweep.from_json(result.stdout)
    assert Sweep.from_json(Path("out.json")) == printed
    assert Path("out.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in Path("out.svg").read_text()
    assert Path("out.html").read_text().startswith("<!doctype html>")
    rows = list(csv.DictReader(io.StringIO(Path("out.csv").read_text())))
    assert len(rows) == printed.timing.cells
    saved = [line for line in result.stderr.splitlines() if line.startswith("saved ")]
    assert saved == [f"saved out{suffix}" for suffix in SUFFIXES]


def test_an_estimate_runs_no_sweep(sweep: Shell) -> None:
    said = sweep("--estimate").stdout.splitlines()
    assert [line.split()[0] for line in said] == ["cells", "time", "memory"]
    assert "12 cells" in said[0]
    assert "clean prompt" in said[2]
    cost = Estimate.model_validate_json(sweep("--estimate", "--json").stdout)
    assert (cost.cells, cost.source_bytes > 0) == (12, True)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--hooks", "post_blok"], "'post_blok'; did you mean 'post_block'"),
        (["--hooks", "resid"], "'resid'; there are pre_attn, post_attn"),
        (["--layers", "5"], "layer 5 is out of range [0, 2)"),
        (["--layers", "0:9"], "layer 8 is out of range [0, 2)"),
        (["--layers", "-1"], "layer -1 is out of range [0, 2)"),
        (["--layers", "0-5"], "--layers '0-5' cannot be read; write all, a range such as 0:30:2"),
        (["--positions", "7"], "position 7 is out of range [0, 7)"),
        (["--positions", "span:"], "--positions 'span:' names no text"),
        (["--positions", "span:Louvre"], "span 'Louvre' not found in the prompt"),
        (["--positions", "span:colosseum"], "did you mean 'Colosseum'?"),
        (["--positions", "span:in#1"], "occurrence 1 of span 'in' is out of range"),
        (["--source-positions", "1"], "--source-positions resolve to 1 tokens and positions to 7"),
        (["--answer", " Atlantis", "--mask", "0"], "--mask does not go with more than one"),
        (["--foil", ""], "--foil is empty; give it some text"),
        (["--alpha", "nan"], "--alpha 'nan' is not a finite number"),
        (["--alpha", "inf"], "--alpha 'inf' is not a finite number"),
        (["--clean", ""], "--clean is empty"),
        (["--corrupt", ""], "--corrupt is empty"),
        (["--clean", "city " * 100], "takes at most 64: shorten it"),
        (["--corrupt", "city " * 100], "takes at most 64: shorten it"),
        (["--mask", "0,16"], "mask index 16 is out of range [0, 16)"),
        (["--model", "/absent/model"], "there is no file or directory /absent/model"),
        (["--model", "absent.gguf"], "there is no file or directory"),
        (["--model", "smolm2"], "cannot find a model named 'smolm2'"),
        (["--device", "abacus"], "device 'abacus' is not available here; available: ['cpu'"),
        (["--dtype", "fp16"], "'fp16' is not one of 'float32', 'float16', 'bfloat16'"),
        (["--memory-budget", "2G"], "--memory-budget '2G' is not a size; write 512MiB"),
        (["--memory-budget", "1KiB"], "raise --memory-budget or shorten the prompt"),
        (
            ["--save", "out.pdf"],
            "suffix '.pdf' is none of .png, .svg, .html, .json, .csv, .parquet",
        ),
        (["--save", "absent/out.png"], "there is no directory 'absent'; create it first"),
        (["--estimate"], "--estimate runs no sweep, so there is nothing to --save"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line_and_nothing_is_written(
    sweep: Shell, arguments: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert expected in refusal(sweep("--save", "out.json", *arguments))
    assert list(Path.cwd().iterdir()) == []


def test_a_save_that_cannot_be_is_noticed_before_the_model_is_loaded(sweep: Shell) -> None:
    result = sweep("--save", "out.pdf", "--model", "/absent/model")
    assert "'.pdf'" in refusal(result)


def test_an_old_result_survives_a_sweep_that_fails(sweep: Shell) -> None:
    Path("out.json").write_text("old")
    refusal(sweep("--save", "out.json", "--layers", "9"))
    assert Path("out.json").read_text() == "old"


def test_the_drawing_takes_the_terminals_width_and_colors(
    sweep: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    result = sweep("--save", "out.json")
    assert (
        result.stdout == render(Sweep.from_json(Path("out.json")), width=60, pen=Pen(True)) + "\n"
    )
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in sweep().stdout


@pytest.mark.slow
def test_the_default_model_keeps_the_landmark_at_its_middle_token_up_to_the_middle_layers() -> None:
    result = sonde("sweep", "--pair", "eiffel", "--json")
    assert result.exit_code == 0, result.stderr
    found = Sweep.from_json(result.stdout).argmax
    assert found is not None
    assert (found.position, found.token) == (2, "osse")
    assert found.layer is not None
    assert found.layer <= 15


def test_edges_go_from_senders_to_receivers(sweep: Shell, model: Model) -> None:
    named = ("--senders", "z:0,embed", "--receivers", "q:1.0,mlp:1", "--receivers", "logits+q:1.0")
    refused = sweep(*named, "--frozen", "path")
    assert "logits stands alone" in refusal(refused)
    found = sweep.result(*named[:-2], "--frozen", "path+mlps")
    expected = model.sweep(
        clean=CLEAN, corrupt=CORRUPT, answer=" Paris", senders=["z:0", "embed"],
        receivers=["q:1.0", "mlp:1"], frozen="path+mlps",
    )  # fmt: skip
    assert found.edges() == expected.edges()
    assert "--layers" not in sweep(*named[:-2], "--estimate").output
    drawn = sweep(*named[:-2])
    assert drawn.exit_code == 0
    assert "edges" in drawn.stdout
