"""`PatchStudy`: its names and signatures, and sweeps on the server."""

import asyncio
import inspect
import re
from typing import Any

import numpy as np
import pytest

from sonde import Span, Sweep
from sonde.client import CleanRun, PatchStudy, Refused, SweepResult
from sonde.client.study import near
from tests.client.canned import Canned, said, sse
from tests.client.conftest import CLEAN, CORRUPT
from tests.client.test_result import summary

SWEEP: dict[str, Any] = {
    "layers": range(4),
    "positions": "all_prompt",
    "answer_token": " Paris",
    "clean_prompt": CLEAN,
    "server_side": True,
}


def one(study: PatchStudy, **options: Any) -> SweepResult:
    found = asyncio.run(study.sweep_layers_positions(CORRUPT, **(SWEEP | options)))
    assert isinstance(found, SweepResult)
    return found


def several(study: PatchStudy, hooks: list[str], **options: Any) -> dict[str, SweepResult]:
    options = SWEEP | options | {"hooks": hooks}
    found: Any = asyncio.run(study.sweep_layers_positions(CORRUPT, **options))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("__init__", "*, model, base_url='http://localhost:8000/v1', api_key='unused', "
         "concurrency=16, hook='post_block', logprobs=20"),
        ("capture_clean", "prompt, *, run, layers='all', hook=None, positions='all_prompt', "
         "answer_token=None, foil_token=None"),
        ("positions_for", "prompt, span, *, occurrence=0"),
        ("sweep_layers_positions", "corrupt_prompt, *, run=None, layers, positions, hook=None, "
         "alpha=1.0, answer_token, foil_token=None, metric='logprob', clean=None, "
         "clean_prompt=None, server_side=False, hooks=None, keep_source=False, on_cell=None"),
        ("zoom", "result, *, corrupt_prompt, run, around=None, layer_radius=3, position_radius=3, "
         "answer_token, foil_token=None, alpha=1.0, metric=None, clean=None"),
        ("pack_vectors", "array, dtype='float32'"),
        ("ablation_sweep", "corrupt_prompt, *, layers, positions, source='zeros', "
         "source_inline=None, mask=None, patch_vectors=None, hook=None, alpha=1.0, answer_token, "
         "foil_token=None, metric='logprob', hooks=None, on_cell=None"),
        ("drop_run", "run"),
    ],
)  # fmt: skip
def test_a_study_written_for_the_client_that_people_know_needs_no_change(
    method: str, expected: str
) -> None:
    parameters = inspect.signature(getattr(PatchStudy, method)).parameters.values()
    plain = inspect.Signature(
        [p.replace(annotation=p.empty) for p in parameters if p.name != "self"]
    )
    assert str(plain) == f"({expected})"
    waits = method not in ("__init__", "capture_clean", "pack_vectors", "drop_run")
    assert inspect.iscoroutinefunction(getattr(PatchStudy, method)) == waits


def test_results_and_runs_have_the_fields_that_people_know() -> None:
    assert [*inspect.signature(SweepResult).parameters][:11] == [
        "layers", "positions", "hook", "metric_name", "grid", "clean", "corrupt", "notes",
        "auto_captured", "captured_source_run", "noise_floor",
    ]  # fmt: skip
    assert [*inspect.signature(CleanRun).parameters] == [
        "run_id", "num_prompt_tokens", "hook", "answer_token", "clean_logprob",
        "clean_logit_diff", "prompt",
    ]  # fmt: skip


def test_a_clean_prompt_is_captured_for_the_sweep_and_gone_after_it(study: PatchStudy) -> None:
    found = one(study)
    assert found.auto_captured
    assert found.captured_source_run is not None
    assert re.fullmatch("[0-9a-f]{32}", found.captured_source_run)
    assert study.drop_run(found.captured_source_run) is False


def test_a_kept_run_serves_another_hook(study: PatchStudy) -> None:
    first = one(study, run="kept", keep_source=True)
    assert (first.auto_captured, first.captured_source_run) == (True, "kept")
    second = one(study, run="kept", hook="mlp_in")
    assert (second.auto_captured, second.captured_source_run) == (False, None)
    assert study.drop_run("kept") is True


def test_cells_are_heard_as_they_are_done(study: PatchStudy) -> None:
    cells: list[dict[str, Any]] = []
    heard, quiet = one(study, on_cell=cells.append), one(study)
    assert heard.grid == quiet.grid
    assert len(cells) == 4 * 6
    at = {(cell["layer"], cell["position"]): cell["value"] for cell in cells}
    assert heard.grid == [[at[l, p] for p in heard.positions] for l in heard.layers]  # noqa: E741
    assert {cell["type"] for cell in cells} == {"cell"}
    assert {cell["hook"] for cell in cells} == {"post_block"}


def test_several_hooks_are_a_result_each_equal_to_the_hook_alone(study: PatchStudy) -> None:
    found = several(study, ["mlp_out", "post_block"])
    assert list(found) == ["mlp_out", "post_block"]
    assert {hook: each.hook for hook, each in found.items()} == {h: h for h in found}
    assert found["post_block"].grid == one(study).grid
    assert found["mlp_out"].grid != found["post_block"].grid
    assert list(several(study, ["post_block"])) == ["post_block"]


def test_a_result_is_also_the_sweep_that_the_python_api_has(study: PatchStudy) -> None:
    found = several(study, ["mlp_out", "post_block"], metric="recovered")
    whole = found["post_block"].sweep
    assert isinstance(whole, Sweep)
    assert found["mlp_out"].sweep is whole
    np.testing.assert_array_equal(whole.grids["post_block"], found["post_block"].to_numpy())
    assert whole.provenance.model == "tiny"
    assert (whole.clean_prompt, whole.corrupt_prompt) == (CLEAN, CORRUPT)
    assert Sweep.from_json(whole.to_json()) == whole
    record = asyncio.run(study.record(found["post_block"].sweep_id or ""))
    assert record.summary == whole.summary


def test_zeros_and_rows_of_a_table_are_patched_in(study: PatchStudy) -> None:
    options: dict[str, Any] = {
        "layers": [1],
        "positions": [Span("city"), 6],
        "answer_token": " Paris",
    }
    zeros = asyncio.run(study.ablation_sweep(CORRUPT, **options))
    table = study.pack_vectors(np.stack([np.ones(16), np.zeros(16)]), dtype="bfloat16")
    row = asyncio.run(
        study.ablation_sweep(CORRUPT, source_inline=1, patch_vectors=table, **options)
    )
    assert zeros.grid == row.grid
    nothing = asyncio.run(study.ablation_sweep(CORRUPT, mask={"indices": []}, **options))
    assert nothing.grid == [[nothing.corrupt] * 2]
    both = asyncio.run(study.ablation_sweep(CORRUPT, hooks=["mlp_in", "post_block"], **options))
    assert both["post_block"].grid == zeros.grid


def test_zooming_stays_inside_the_model_and_the_prompt(study: PatchStudy) -> None:
    clean = study.capture_clean(CLEAN, run="zoomed", answer_token=" Paris")
    coarse = one(study, run="zoomed", clean=clean, clean_prompt=None, layers=[0, 3])
    options: dict[str, Any] = {"corrupt_prompt": CORRUPT, "run": "zoomed", "answer_token": " Paris"}
    corner = asyncio.run(study.zoom(coarse, around=(3, 6), clean=clean, **options))
    assert (corner.layers, corner.positions) == ([0, 1, 2, 3], [3, 4, 5, 6])
    edge = asyncio.run(
        study.zoom(
            coarse, around=(0, 3), layer_radius=1, position_radius=0, clean=clean,
            metric="recovered", **options,
        )
    )  # fmt: skip
    assert (edge.layers, edge.positions, edge.metric_name) == ([0, 1], [3], "recovered")
    auto = asyncio.run(study.zoom(coarse, clean=clean, **options))
    strongest = coarse.argmax_cell()
    assert strongest is not None
    assert (strongest[0] in auto.layers, strongest[1] in auto.positions) == (True, True)
    assert auto.hook == coarse.hook
    empty = SweepResult([0], [0], "post_block", "logprob", [[None]])
    with pytest.raises(ValueError, match="say where to look with around"):
        asyncio.run(study.zoom(empty, **options))
    study.drop_run("zoomed")


def test_near_is_clamped_at_both_ends_as_far_as_they_are_known() -> None:
    assert near(1, 3, 4) == [0, 1, 2, 3]
    assert near(5, 1, None) == [4, 5, 6]


@pytest.mark.parametrize("stream", [False, True])
def test_what_the_server_refuses_is_raised_in_its_words(study: PatchStudy, stream: bool) -> None:
    on_cell = print if stream else None
    with pytest.raises(Refused, match=r"layer 9 is out of range \[0, 4\)"):
        one(study, layers=[9], on_cell=on_cell)
    with pytest.raises(Refused, match="patch source not found"):
        one(study, run="absent", clean_prompt=None, on_cell=on_cell)


def test_a_server_that_is_not_sondes_will_do_for_all_but_the_whole_sweep(
    canned: Canned, canned_study: PatchStudy
) -> None:
    cell = {"type": "cell", "hook": "post_block", "layer": 0, "position": 3, "value": None}
    voided = {**cell, "error": "the patch was not applied"}
    stream = sse(
        {"type": "start"}, cell, voided, {"type": "summary", **summary()}, "data: [DONE]\n\n"
    )
    canned.answers["/v1/patch_sweep"] = [said(summary()), stream]
    heard: list[dict[str, Any]] = []
    for on_cell in (None, heard.append):
        found = one(canned_study, on_cell=on_cell)
        assert found.grid == [[0.5], [None]]
        assert (found.sweep, found.sweep_id) == (None, None)
    assert heard == [cell, voided]


def test_a_drop_that_fails_is_not_taken_for_a_run_that_is_not_there(
    canned: Canned, canned_study: PatchStudy
) -> None:
    canned.answers["/v1/patch_source/a%2Fb"] = [said({"error": "drop failed"}, 500)]
    with pytest.raises(Refused, match="drop failed"):
        canned_study.drop_run("a/b")
