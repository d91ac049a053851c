"""The study for code without `await`."""

import asyncio
import inspect
from typing import Any

import pytest

from sonde.client import PatchStudy, Refused, SyncPatchStudy
from sonde.schema import PatchSweepRequest, Summary
from tests.client.conftest import CLEAN, CORRUPT

REQUEST = PatchSweepRequest(
    prompt=CORRUPT, clean_prompt=CLEAN, source_run="sync", layers=[1], answer_token=" Paris"
)
SWEEP: dict[str, Any] = {"layers": [1], "positions": "all_prompt", "answer_token": " Paris"}


@pytest.fixture
def waiting(url: str) -> SyncPatchStudy:
    return SyncPatchStudy(model="tiny", base_url=f"{url}/v1")


def walk(study: SyncPatchStudy) -> None:
    """A study from its beginning to its end."""
    clean = study.capture_clean(CLEAN, run="walked", answer_token=" Paris")
    cells: list[dict[str, Any]] = []
    served = study.sweep_layers_positions(
        CORRUPT, clean=clean, server_side=True, on_cell=cells.append, **SWEEP
    )
    assert len(cells) == 6
    assert study.sweep_layers_positions(CORRUPT, clean=clean, **SWEEP).grid == served.grid
    zoomed = study.zoom(
        served, corrupt_prompt=CORRUPT, run="walked", answer_token=" Paris", clean=clean
    )
    assert zoomed.layers == [0, 1, 2, 3]
    assert study.positions_for(CORRUPT, "city") == [5]
    assert study.ablation_sweep(CORRUPT, hooks=["mlp_in"], **SWEEP)["mlp_in"].layers == [1]
    assert study.capabilities().model.name == "tiny"
    assert study.estimate(REQUEST).cells == 6
    assert study.run(REQUEST).layers == [1]
    entry = study.start(REQUEST)
    events = list(study.events(entry.id))
    assert isinstance(events[-1], Summary)
    assert study.record(entry.id).state == "finished"
    assert study.history(limit=1).sweeps[0].id == entry.id
    assert study.remark(entry.id, name="mine").name == "mine"
    assert study.cancel(entry.id).cancelled is False
    assert study.forget(entry.id).name == "mine"
    assert "walked" in {run.run for run in study.runs().runs}
    assert study.drop_run("walked") is True


def test_a_script_needs_no_event_loop(waiting: SyncPatchStudy) -> None:
    walk(waiting)


def test_a_notebook_whose_loop_is_running_needs_no_await(waiting: SyncPatchStudy) -> None:
    async def notebook() -> None:
        walk(waiting)

    asyncio.run(notebook())


def test_everything_a_study_has_the_other_has_too() -> None:
    public = {
        name
        for name, value in inspect.getmembers(PatchStudy, callable)
        if not name.startswith("_") and name != "connection"
    }
    study = SyncPatchStudy(model="tiny")
    for name in public:
        assert not inspect.iscoroutinefunction(getattr(study, name)), name
        assert inspect.getdoc(getattr(study, name)) == inspect.getdoc(getattr(PatchStudy, name))


def test_refusals_and_value_errors_come_through(waiting: SyncPatchStudy) -> None:
    with pytest.raises(Refused, match="layer 9 is out of range"):
        waiting.ablation_sweep(CORRUPT, **(SWEEP | {"layers": [9]}))
    with pytest.raises(ValueError, match="not found"):
        waiting.positions_for(CORRUPT, "Louvre")
