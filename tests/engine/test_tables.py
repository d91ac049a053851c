"""A general sweep has the numbers of the classic one, and of its own formulas beyond it."""

from typing import Any

import numpy as np
import pytest

from sonde.backends.base import Column, Readout, Row, Work
from sonde.engine import Limits, sweep
from sonde.engine.tables import estimate_table, sweep_table
from sonde.errors import BadRequest, LayerOutOfRange, NothingToPatch, UnknownHook
from sonde.schema import CLASSIC_HOOKS, PatchSweepRequest, Summary
from sonde.schema.table import SweepRequest, TableCell, TableEvent, TableStart, TableSummary
from tests.backends.torch.tiny import backend_of
from tests.scripted import Scripted
from tests.tiny_model import tiny_llama

BACKEND = backend_of(tiny_llama())
CLEAN, CORRUPT = "The Eiffel Tower is in the city of", "The big Colosseum is in the city of"


def asked(**fields: Any) -> SweepRequest:
    return SweepRequest(**{"corrupt": CORRUPT, "clean": CLEAN, "answer": " Paris"} | fields)


def events(request: SweepRequest, **options: Any) -> list[TableEvent]:
    return list(sweep_table(BACKEND, request, **options))


def whole(request: SweepRequest) -> TableSummary:
    start, *cells, summary = events(request)
    assert isinstance(start, TableStart)
    assert isinstance(summary, TableSummary)
    assert start.cells == len(cells) == sum(len(t.values[t_metric(t)]) for t in summary.tables)
    for cell in cells:
        assert isinstance(cell, TableCell)
        table = summary.tables[cell.table]
        number = np.ravel_multi_index(cell.at, [len(axis.values) for axis in table.axes])
        assert all(table.values[m][number] == value for m, value in cell.values.items())
    return summary


def t_metric(table: Any) -> Any:
    return next(iter(table.values))


@pytest.mark.parametrize("pairing", ["strict", "mean"])
@pytest.mark.parametrize("foil", [None, " Rome"])
def test_the_numbers_are_those_of_the_classic_sweep(pairing: str, foil: str | None) -> None:
    hooks = list(CLASSIC_HOOKS)
    metrics = ["logit_diff"] if foil else None
    corrupt = "The Colosseum is in the city of"
    found = whole(asked(corrupt=corrupt, hooks=hooks, pairing=pairing, foil=foil, metrics=metrics))
    fields: dict[str, Any] = {
        "prompt": corrupt, "clean_prompt": CLEAN, "layers": [0, 1], "hooks": hooks,
        "answer_token": " Paris", "foil_token": foil, "metrics": metrics, "pairing": pairing,
        "source_run": "clean",
    }  # fmt: skip
    classic = PatchSweepRequest(**fields)
    *_, expected = sweep(BACKEND, classic)
    assert isinstance(expected, Summary)

    for grid in expected.metric_grids or expected.hook_grids or []:
        table = next(t for t in found.tables if t.hook == grid.hook)
        metric: Any = getattr(grid, "metric", "logprob")
        assert table.values[metric] == [value for row in grid.grid for value in row]
    assert found.corrupt["logprob"] == expected.corrupt
    assert found.noise_floor["logprob"] == 0.0
    assert [s.position for s in found.skipped] == [s.position for s in expected.skipped]
    assert BACKEND.manifests() == {}


def test_positions_together_are_one_write_a_layer() -> None:
    found = whole(asked(positions="together"))

    assert [axis.name for axis in found.tables[0].axes] == ["layer"]
    assert found.clean is not None
    last = found.tables[0].values["logprob"][-1]
    assert last == pytest.approx(found.clean["logprob"], abs=1e-5)  # all that it depends on


def test_metrics_beyond_the_classic_ones_come_from_the_same_runs() -> None:
    metrics = ["prob", "rank", "top1", "kl_clean", "kl_corrupt", "recovered"]
    found = whole(asked(positions="together", metrics=metrics))
    values: Any = found.tables[0].values

    np.testing.assert_allclose(values["prob"], np.exp(values["logprob"]))
    assert values["top1"] == [float(rank == 0) for rank in values["rank"]]
    assert values["recovered"][-1] == pytest.approx(1.0, abs=1e-4)
    assert values["kl_clean"][-1] == pytest.approx(0.0, abs=1e-5)
    assert found.corrupt["kl_corrupt"] == 0.0
    assert found.recovered_of == "logprob"
    assert all(noise == 0.0 for noise in found.noise_floor.values())


def test_an_answer_of_several_tokens_is_the_sum_of_its_tokens() -> None:
    answer = BACKEND.tokenize(" Paris is the", special=False)
    assert len(answer) > 1
    found = whole(asked(answer=" Paris is the", positions="together"))

    tokens = BACKEND.tokenize(CORRUPT)
    total = 0.0
    for i, token in enumerate(answer):
        work = Work([*tokens, *answer[:i]], [Row()], Readout((Column("logprob", token),)))
        [part] = BACKEND.score([work])
        total += float(part.values[0, 0])
    assert found.corrupt["logprob"] == pytest.approx(total, abs=1e-5)
    assert found.noise_floor["logprob"] == 0.0
    assert all(control.difference == 0 for control in found.controls)


def test_a_short_answer_against_a_long_foil() -> None:
    found = whole(asked(foil=" Rome is", metric="logit_diff", positions="together"))
    long = whole(asked(answer=" Rome is", positions="together"))
    short = whole(asked(positions="together"))

    first, second, third = (each.tables[0].values for each in (found, short, long))
    values: Any = first["logit_diff"], second["logprob"], third["logprob"]
    np.testing.assert_allclose(values[0], np.subtract(*values[1:]), atol=1e-5)


def test_zeros_need_no_clean_prompt() -> None:
    found = whole(asked(clean=None, source="zero", hooks=["mlp_out"]))

    assert found.clean is None
    assert found.alignment is None
    assert found.tokens.clean is None


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"hooks": ["attn"]}, UnknownHook, "'attn'"),
        ({"layers": [2]}, LayerOutOfRange, r"layer 2 is out of range \[0, 2\)"),
        ({"layers": []}, NothingToPatch, "empty sweep"),
        ({"metric": "logit_diff"}, BadRequest, "name a foil"),
        ({"metric": "recovered", "clean": None, "source": "zero"}, BadRequest, "name one"),
        ({"clean": None}, BadRequest, "name a clean prompt, or source='zero'"),
        ({"answer": 10**6}, BadRequest, "outside the vocabulary"),
        ({"answer": [" Paris", " Paris"]}, BadRequest, "the same tokens twice"),
        ({"answer": " Paris" * 40}, BadRequest, "at most 32 are graded"),
        ({"corrupt": "x" * 60}, BadRequest, "60 characters; at most 50"),
    ],
)
def test_what_is_wrong_with_a_request_is_said_before_anything_starts(
    fields: dict[str, Any], error: type[Exception], message: str
) -> None:
    limits = Limits(prompt_chars=50) if fields.get("corrupt") == "x" * 60 else None
    with pytest.raises(error, match=message):
        next(iter(sweep_table(BACKEND, asked(**fields), limits=limits)))
    assert BACKEND.manifests() == {}


def test_a_sweep_beyond_the_limit_names_what_would_work() -> None:
    with pytest.raises(BadRequest, match="22 cells; at most 5.*positions='together'"):
        events(asked(), limits=Limits(cells=5))


def test_a_sweep_that_is_left_drops_what_it_captured() -> None:
    running = sweep_table(BACKEND, asked())
    next(running)
    assert len(BACKEND.manifests()) == 2
    running.close()  # type: ignore[attr-defined]

    assert BACKEND.manifests() == {}


def test_a_stored_run_is_used_and_stays() -> None:
    tokens = BACKEND.tokenize(CLEAN)
    BACKEND.capture("mine", tokens, BACKEND.describe().layer_hooks, [0, 1], range(len(tokens)))
    try:
        assert whole(asked(source_run="mine")).tables == whole(asked()).tables
        assert set(BACKEND.manifests()) == {"mine"}
        with pytest.raises(BadRequest, match="not this clean prompt"):
            events(asked(source_run="mine", clean="The Tower is in the city of"))
    finally:
        BACKEND.drop("mine")


def test_the_estimate_counts_the_cells_and_runs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Scripted()
    found = estimate_table(backend, SweepRequest(corrupt=CORRUPT, clean=CLEAN, answer=" Paris"))

    assert found.cells == 4 * 9
    assert backend.log == []
    assert backend.manifests() == {}


def test_a_backend_without_logits_gives_the_same_difference() -> None:
    backend = Scripted()
    request = SweepRequest(
        corrupt=CORRUPT, clean=CLEAN, answer=" Paris", foil=" Rome", metric="logit_diff"
    )
    *_, found = sweep_table(backend, request)

    assert isinstance(found, TableSummary)
    assert None not in found.tables[0].values["logit_diff"]
