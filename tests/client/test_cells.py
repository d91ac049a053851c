"""Sweeps cell by cell: the same numbers as a sweep on the server, and the same guards."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from sonde import Span
from sonde.client import CleanRun, PatchStudy, Refused, SweepResult
from tests.client.canned import Asked, Canned, Reply, said
from tests.client.conftest import CLEAN, CORRUPT


@pytest.fixture
def clean(study: PatchStudy) -> Iterator[CleanRun]:
    yield study.capture_clean(CLEAN, run="cells", answer_token=" Paris", foil_token=" Rome")
    study.drop_run("cells")


def sweep(study: PatchStudy, **options: Any) -> SweepResult:
    usual = {"layers": range(4), "positions": "all_prompt", "answer_token": " Paris"}
    found = asyncio.run(study.sweep_layers_positions(CORRUPT, **(usual | options)))
    assert isinstance(found, SweepResult)
    return found


@pytest.mark.parametrize(
    "metric",
    [*(pytest.param(m, marks=pytest.mark.slow) for m in ("logprob", "logit_diff")), "recovered"],
)
def test_cell_by_cell_gives_the_bits_of_a_sweep_on_the_server(
    study: PatchStudy, clean: CleanRun, metric: str
) -> None:
    options = {"clean": clean, "metric": metric, "foil_token": " Rome"}
    cells, served = sweep(study, **options), sweep(study, server_side=True, **options)
    assert (cells.layers, cells.positions) == (served.layers, served.positions)
    assert cells.grid == served.grid
    assert (cells.clean, cells.corrupt) == (served.clean, served.corrupt)
    assert cells.noise_floor == served.noise_floor == 0.0
    assert cells.notes == served.notes[:2]
    assert (cells.sweep, cells.sweep_id) == (None, None)


def test_spans_alpha_and_a_hook_are_taken_as_on_the_server(study: PatchStudy) -> None:
    study.capture_clean(CLEAN, run="mlp", hook="mlp_out")
    options: dict[str, Any] = {
        "run": "mlp",
        "clean_prompt": CLEAN,
        "clean": CleanRun("mlp", 8, "mlp_out"),
        "hook": "mlp_out",
        "layers": [2, 0],
        "positions": [Span("city of"), 2],
        "alpha": 0.5,
    }
    cells, served = sweep(study, **options), sweep(study, server_side=True, **options)
    assert cells.positions == [5, 6, 2]
    assert cells.layers == [2, 0]
    assert cells.grid == served.grid
    study.drop_run("mlp")


def test_prompts_of_different_length_are_never_patched_position_by_position(
    study: PatchStudy, clean: CleanRun
) -> None:
    with pytest.raises(ValueError, match="captured from a 8-token prompt but this prompt has 7"):
        sweep(study, run="cells")
    with pytest.raises(ValueError, match="captured from a 8-token prompt but this prompt has 7"):
        sweep(study, clean=CleanRun("cells", 8, "post_block"))
    with pytest.raises(ValueError, match="no alignable positions"):
        sweep(study, clean=clean, positions=[1])


def test_prompts_of_one_length_need_no_text(study: PatchStudy) -> None:
    study.capture_clean("The city is in the Colosseum of", run="same")
    found = sweep(study, run="same", layers=[1])
    assert found.positions == list(range(7))
    assert found.notes == []
    served = sweep(study, run="same", layers=[1], server_side=True)
    assert found.grid == served.grid
    study.drop_run("same")


def test_a_run_that_is_not_there_is_refused_by_name(study: PatchStudy) -> None:
    with pytest.raises(Refused, match="patch source not found"):
        sweep(study, run="absent")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"hooks": ["post_block"]}, "hooks needs server_side=True"),
        ({"on_cell": print}, "on_cell needs server_side=True"),
        ({"run": None, "clean_prompt": CLEAN}, "pass server_side=True too"),
        ({"run": None}, "needs run or clean"),
        ({"metric": "prob"}, "'prob' is none of"),
        ({"metric": "logit_diff"}, "foil_token"),
        ({"metric": "recovered"}, "needs the clean prompt's log-probability"),
    ],
)
def test_what_makes_no_sense_cell_by_cell_is_a_value_error_before_anything_is_asked(
    options: dict[str, Any], expected: str
) -> None:
    nowhere = PatchStudy(model="tiny", base_url="http://127.0.0.1:1/v1")
    with pytest.raises(ValueError, match=expected):
        sweep(nowhere, **({"run": "r"} | options))


@pytest.mark.parametrize("options", [{"layers": []}, {"positions": []}])
def test_an_empty_grid_is_a_value_error(
    study: PatchStudy, clean: CleanRun, options: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="empty sweep grid"):
        sweep(study, clean=clean, **options)


class Plain:
    """A server with completions and tokens and nothing else; letters are tokens."""

    def __init__(self, canned: Canned) -> None:
        self.patches: list[dict[str, Any] | None] = []
        self.fail_at: tuple[int, int] | None = None
        self.say = "a"
        canned.answers = {
            "/v1/completions": self.complete,
            "/tokenize": lambda asked: said({"tokens": [ord(c) for c in asked.body["prompt"]]}),
        }

    def complete(self, asked: Asked) -> Reply:
        patches = asked.body.get("patch")
        self.patches.append(patches and patches[0])
        if not patches:
            return said(self.answer(-4.0))
        at = patches[0]["layer"], patches[0]["dest_position"]
        if at == self.fail_at:
            return said({"error": {"message": "its patch was never reached"}}, 502)
        return said(self.answer(-float(at[0]) - at[1] / 10))

    def answer(self, value: float) -> dict[str, Any]:
        logprobs = {"tokens": ["q"], "token_logprobs": [-9.0], "top_logprobs": [{self.say: value}]}
        return {"choices": [{"logprobs": logprobs}]}


@pytest.fixture
def plain(canned: Canned) -> Plain:
    return Plain(canned)


def swept(study: PatchStudy, **options: Any) -> SweepResult:
    usual = {"run": "r", "layers": [0, 1], "positions": [2, 0], "answer_token": "a"}
    found = asyncio.run(study.sweep_layers_positions("xyz", **(usual | options)))
    assert isinstance(found, SweepResult)
    return found


def test_any_server_with_completions_and_tokens_will_do(
    plain: Plain, canned: Canned, canned_study: PatchStudy
) -> None:
    found = swept(canned_study, alpha=0.5)
    assert found.grid == [[-0.2, 0.0], [-1.2, -1.0]]
    assert (found.corrupt, found.noise_floor, found.clean) == (-4.0, 0.0, None)
    patches = [patch for patch in plain.patches if patch]
    assert plain.patches.count(None) == 2  # the baseline, and the baseline again
    assert {(patch["layer"], patch["dest_position"]) for patch in patches} == {
        (layer, position) for layer in (0, 1) for position in (2, 0)
    }
    assert next(each for each in patches if each["layer"] == 1 and each["dest_position"] == 2) == {
        "layer": 1,
        "hook": "post_block",
        "dest_position": 2,
        "alpha": 0.5,
        "source_run": "r",
        "source_position": 2,
    }
    graded = {tuple(body["logprob_token_ids"]) for body in canned.bodies("/v1/completions")}
    assert graded == {(97,)}


def test_a_cell_that_fails_ends_the_sweep(plain: Plain, canned_study: PatchStudy) -> None:
    plain.fail_at = (1, 0)
    with pytest.raises(Refused, match="its patch was never reached"):
        swept(canned_study)


def test_cells_without_a_number_are_null_and_noted(plain: Plain, canned_study: PatchStudy) -> None:
    plain.say = "b"
    found = swept(canned_study)
    assert found.grid == [[None, None], [None, None]]
    assert (found.corrupt, found.noise_floor) == (None, None)
    assert "4 cells have no number" in found.notes[0]
