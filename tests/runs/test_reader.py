"""Lists of checkpoints and runs, as far as their files tell."""

import json
import os
from pathlib import Path

import pytest

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.runs.reader import (
    Counts,
    checkpoint_list,
    model_name,
    read_object,
    run_info,
    run_list,
    run_row,
)
from sonde.schema.records import Cadence, RunInfo
from tests.runs.trainer import Trainer


def test_checkpoints_are_in_numeric_order_with_metadata_and_counts(trainer: Trainer) -> None:
    for step in (1000, 50, 100):
        trainer.snapshot(step, step // 10)
    trainer.layout.metadata(50).write_text('{"run_id": "r", "last_checkpoint_step": 50}')
    trainer.layout.metadata(100).write_text("not json")
    found = checkpoint_list(trainer.layout, Counts())
    assert [row.step for row in found.rows] == [50, 100, 1000]
    assert [row.n_sae_records for row in found.rows] == [5, 10, 100]
    assert found.rows[0].metadata == {"run_id": "r", "last_checkpoint_step": 50}
    assert found.rows[1].metadata is None
    assert (found.count, found.p5_dir_exists) == (3, True)
    assert found.rows[0].checkpoint_dir == str(trainer.layout.checkpoint(50))


def test_a_missing_directory_is_an_empty_list(tmp_path: Path) -> None:
    found = checkpoint_list(RunLayout(tmp_path / "no"), Counts())
    assert (found.rows, found.count, found.p5_dir_exists) == ([], 0, False)


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"", 0),
        (b"{}", 0),
        (b"{}\n", 1),
        (b'\n{"a":1}\n\n  \n{"a":2}\r\n\r\n{"half', 2),
        (b"x" * 300_000 + b"\n" + b" " * 300_000 + b"\n{}\n", 2),
        (b" " * 200_000 + b"x\n", 1),
    ],
)
def test_counts_are_of_whole_lines_that_are_not_blank(
    tmp_path: Path, content: bytes, count: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    assert Counts().of(path) == count


def test_a_file_is_counted_again_only_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, counts, calls = tmp_path / "a", Counts(), 0
    path.write_bytes(b"{}\n")

    def counted(descriptor: int) -> int:
        nonlocal calls
        calls += 1
        return 1

    monkeypatch.setattr("sonde.runs.reader.count_lines", counted)
    for _ in range(3):
        counts.of(path)
    assert calls == 1
    path.write_bytes(b"{}\n{}\n")
    counts.of(path)
    assert calls == 2


@pytest.mark.parametrize(
    "content", ["", "[]", '{"a": NaN}', "[" * 100_000, '{"a":"' + "x" * 2**20 + '"}', "\x00"]
)
def test_metadata_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    assert read_object(path) is None


def test_a_run_that_sonde_wrote_says_what_it_is(trainer: Trainer) -> None:
    cadence = Cadence(record_every_n_tokens=4, spill_every_n_steps=1, save_every_n_steps=50)
    info = RunInfo(
        run_id="r", model="m", saes=[], layers=[0, 15], k=16, cadence=cadence,
        versions={}, started=1.0, status="running",
    )  # fmt: skip
    trainer.layout.run_info.write_text(info.model_dump_json())
    trainer.write(1)
    trainer.rotate(50)
    row = run_row(trainer.layout, "root")
    assert run_info(trainer.layout) == info
    assert (row.run_id, row.model, row.status, row.layers) == ("r", "m", "running", [0, 15])
    assert (row.last_checkpoint, row.live) == (50, False)
    assert row.missing == ["generations.jsonl", "grpo_metrics.jsonl", "sae_health.jsonl"]


def test_a_run_of_the_reference_is_listed_with_what_it_lacks(trainer: Trainer) -> None:
    trainer.write(3)
    row = run_row(trainer.layout, "root")
    assert (row.run_id, row.status, row.live) == (None, None, True)
    assert "run.json" in row.missing
    assert row.written == trainer.layout.live.stat().st_mtime
    trainer.layout.run_info.write_text(json.dumps({"run_id": 7}))
    assert run_row(trainer.layout, "root").run_id is None


def test_runs_are_listed_the_one_written_to_last_first(tmp_path: Path) -> None:
    for name, written in (("older", 100.0), ("newer", 200.0)):
        live = RunLayout(tmp_path / name).live
        live.parent.mkdir()
        live.write_text("{}\n")
        os.utime(live, (written, written))
    found = run_list(Hub(RunLayout(tmp_path)))
    assert [row.run for row in found.runs] == ["newer", "older"]
    assert (found.count, found.directory, found.directory_exists) == (2, str(tmp_path), True)


def test_a_model_in_a_directory_is_called_by_the_directory_s_name() -> None:
    assert model_name("/somewhere/models/smollm2-59") == "smollm2-59"
    assert model_name("Qwen/Qwen3-0.6B") == "Qwen/Qwen3-0.6B"
    assert model_name(None) == ""
