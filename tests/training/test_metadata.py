import hashlib
import json
from pathlib import Path

import pytest

from sonde.errors import BadRequest
from sonde.runs.layout import RunLayout
from sonde.schema.records import Cadence, RunInfo, RunMetadata, SAEFile
from sonde.training.metadata import (
    LOCKED_WEIGHTS,
    Task,
    drift,
    file_hash,
    last_checkpoint,
    metadata,
    read_metadata,
    resume_step,
    weights_hash,
)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    for name in ("catalog", "topics", "null"):
        (tmp_path / name).write_text(name)
    return Task(
        name="catalog",
        catalog_path=str(tmp_path / "catalog"),
        catalog_version="1",
        n_templates=8,
        t_i_cache_path=str(tmp_path / "topics"),
        null_stats_path=str(tmp_path / "null"),
    )


def described(task: Task, step: int = 50) -> RunMetadata:
    return metadata("run", task, step=step, started=1.0, commit=None)


def info(task: Task, saes: list[SAEFile]) -> RunInfo:
    return RunInfo(
        run_id="run",
        model="m",
        saes=saes,
        layers=[0],
        k=16,
        cadence=Cadence(record_every_n_tokens=4, spill_every_n_steps=1, save_every_n_steps=50),
        versions={},
        started=1.0,
        status="running",
        files=task.files,
    )


SAE = SAEFile(layer_index=0, path="a", sha256="1" * 64)


def test_metadata_has_exactly_the_keys_that_readers_expect(task: Task) -> None:
    found = described(task).model_dump()
    assert set(found) == {
        "run_id",
        "catalog_path",
        "catalog_version",
        "catalog_n_templates",
        "catalog_n_verbalized",
        "catalog_n_complex",
        "locked_weights",
        "locked_weights_hash",
        "t_i_cache_path",
        "null_stats_path",
        "null_stats_hash",
        "started_at",
        "last_checkpoint_at",
        "last_checkpoint_step",
        "p5_brief_commit",
    }
    assert found["locked_weights"] == {"a": 0.50, "b": 0.05, "c": 0.45}
    assert found["null_stats_hash"] == hashlib.sha256(b"null").hexdigest()[:16]


def test_hashes_are_of_sorted_json_and_of_files() -> None:
    text = json.dumps(LOCKED_WEIGHTS, sort_keys=True)
    assert weights_hash(LOCKED_WEIGHTS) == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert weights_hash({"c": 0.45, "a": 0.5, "b": 0.05}) == weights_hash(LOCKED_WEIGHTS)
    assert file_hash(None) == file_hash("/nowhere/at/all") == "missing"


def test_a_run_that_is_the_same_has_no_drift(task: Task) -> None:
    assert drift(described(task), info(task, [SAE]), task, [SAE]) == []
    assert drift(described(task), None, task, [SAE]) == []


def test_everything_that_differs_is_listed(task: Task) -> None:
    then, before = described(task), info(task, [SAE])
    assert task.null_stats_path
    assert task.t_i_cache_path
    Path(task.null_stats_path).write_text("other")
    Path(task.t_i_cache_path).write_text("other")
    now = Task(**{**task.__dict__, "catalog_version": "2", "n_templates": 9})
    other = SAEFile(layer_index=0, path="a", sha256="2" * 64)
    extra = SAEFile(layer_index=15, path="b", sha256="3" * 64)
    found = " | ".join(drift(then, before, now, [other, extra]))
    for word in (
        "catalog version was '1', is '2'",
        "number of templates was 8, is 9",
        "null statistics",
        "content of topics",
        "content of null_stats",
        "dictionary of layer 0 was 111111111111…, is 222222222222…",
        "dictionary of layer 15 was None",
    ):
        assert word in found
    moved = Task(**{**task.__dict__, "t_i_cache_path": "/elsewhere"})
    assert any("topic model" in each for each in drift(then, None, moved, []))


def test_only_checkpoints_that_were_finished_can_be_resumed(tmp_path: Path, task: Task) -> None:
    layout = RunLayout(tmp_path / "run")
    assert last_checkpoint(layout) is None
    for step in (50, 100, 150):
        layout.checkpoint(step).mkdir(parents=True)
        layout.metadata(step).write_text(described(task, step).model_dump_json())
    layout.metadata(150).write_text('{"cut short')
    layout.checkpoint(1000).mkdir()
    assert last_checkpoint(layout) == 100
    assert resume_step(layout, "last") == 100
    assert resume_step(layout, "50") == resume_step(layout, "checkpoint-50") == 50
    assert resume_step(layout, str(layout.checkpoint(50))) == 50
    for wrong in ("150", "checkpoint-1000", "7", "nonsense"):
        with pytest.raises(BadRequest, match="no finished checkpoint"):
            resume_step(layout, wrong)


def test_a_run_without_a_checkpoint_is_resumed_from_its_beginning(tmp_path: Path) -> None:
    assert resume_step(RunLayout(tmp_path), "last") == 0


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert read_metadata(RunLayout(tmp_path), 50) is None
