import json
from pathlib import Path

import pytest

from sonde.errors import RunExists, RunInUse
from sonde.runs.layout import RunLayout
from sonde.runs.spool import Chunk
from sonde.runs.writer import RunWriter, line
from sonde.schema.records import GRPOMetrics, RunMetadata
from tests.runs.full_disk import files_no_larger_than


@pytest.fixture
def layout(tmp_path: Path) -> RunLayout:
    return RunLayout(tmp_path / "run")


def record(step: int) -> Chunk:
    return Chunk(json.dumps({"step": step}).encode() + b"\n", 1)


def metrics(step: int) -> GRPOMetrics:
    numbers = dict.fromkeys(GRPOMetrics.model_fields)
    return GRPOMetrics.model_validate(
        numbers | {"iteration": step, "n_invalid_compositions": 0, "rewards_mean": 0.5}
    )


def metadata(step: int) -> RunMetadata:
    return RunMetadata(
        run_id="r",
        catalog_path="",
        catalog_version="1",
        catalog_n_templates=0,
        catalog_n_verbalized=0,
        catalog_n_complex=0,
        locked_weights={"a": 0.5, "b": 0.05, "c": 0.45},
        locked_weights_hash="",
        t_i_cache_path=None,
        null_stats_path=None,
        null_stats_hash="missing",
        started_at=0.0,
        last_checkpoint_at=1.0,
        last_checkpoint_step=step,
        p5_brief_commit=None,
    )


def steps(path: Path) -> list[int]:
    return [json.loads(text)["step"] for text in path.read_text().splitlines()]


def test_each_record_is_in_the_live_file_or_in_a_snapshot_and_in_one_only(
    layout: RunLayout,
) -> None:
    with RunWriter.begin(layout) as writer:
        for step in range(1, 8):
            writer.add(records=[record(step)], metrics=metrics(step))
            writer.spill()
            if step % 3 == 0:
                layout.checkpoint(step).mkdir()
                assert writer.checkpoint(step, metadata(step))
    assert steps(layout.snapshot(3)) == [1, 2, 3]
    assert steps(layout.snapshot(6)) == [4, 5, 6]
    assert steps(layout.live) == [7]
    assert len(layout.metrics.read_text().splitlines()) == 7


def test_history_survives_the_deletion_of_checkpoints(layout: RunLayout) -> None:
    with RunWriter.begin(layout) as writer:
        for step in (1, 2):
            writer.add(records=[record(step)])
            layout.checkpoint(step).mkdir()
            writer.checkpoint(step, metadata(step))
    layout.snapshot(1).unlink()
    assert steps(layout.segment(1)) == [1]


def test_what_waits_at_a_save_is_part_of_the_snapshot(layout: RunLayout) -> None:
    """Whatever the cadence: the buffer is spilled first, so snapshots are never empty."""
    with RunWriter.begin(layout) as writer:
        writer.add(records=[record(1)])
        layout.checkpoint(1).mkdir()
        writer.checkpoint(1, metadata(1))
    assert steps(layout.snapshot(1)) == [1]


def test_a_fresh_run_refuses_a_directory_that_holds_one(layout: RunLayout) -> None:
    with RunWriter.begin(layout) as writer:
        writer.add(records=[record(1)])
    before = layout.live.read_bytes()
    with pytest.raises(RunExists, match=r"--resume.*--archive.*SONDE_OUTPUT_DIR"):
        RunWriter.begin(layout)
    assert layout.live.read_bytes() == before
    with RunWriter.begin(layout, set_aside=True) as writer:
        writer.add(records=[record(1)])
    assert steps(layout.live) == [1]


def test_a_second_writer_is_refused_and_the_first_goes_on(layout: RunLayout) -> None:
    with RunWriter.begin(layout) as writer:
        for again in (RunWriter.begin, lambda layout: RunWriter.resume(layout, 0)):
            with pytest.raises(RunInUse, match="process"):
                again(layout)
        writer.add(records=[record(1)])
    assert steps(layout.live) == [1]


def test_a_refused_writer_leaves_the_lock_to_others(layout: RunLayout) -> None:
    with RunWriter.begin(layout) as writer:
        writer.add(records=[record(1)])
    with pytest.raises(RunExists):
        RunWriter.begin(layout)
    RunWriter.resume(layout, 1).close()


def test_resuming_cuts_fragments_sets_tails_aside_and_counts(layout: RunLayout) -> None:
    with RunWriter.begin(layout) as writer:
        writer.add(records=[record(1)], metrics=metrics(1))
        layout.checkpoint(1).mkdir()
        writer.checkpoint(1, metadata(1))
        writer.add(records=[record(2)], metrics=metrics(2))
    with layout.live.open("a") as live:
        live.write('{"step":3,"tok')
    with RunWriter.resume(layout, 1) as writer:
        writer.add(records=[record(2)], metrics=metrics(2))
        writer.spill()
        assert writer.fragments == 1
    assert steps(layout.segment(1)) + steps(layout.live) == [1, 2]
    assert steps(layout.abandoned(1)) == [2]
    iterations = [json.loads(text)["iteration"] for text in layout.metrics.read_text().splitlines()]
    assert iterations == [1, 2]


def test_a_full_disk_is_outlived(layout: RunLayout) -> None:
    with RunWriter.begin(layout, capacity=400) as writer:
        with files_no_larger_than(60):
            for step in range(1, 101):
                writer.add(records=[record(step)], metrics=metrics(step))
                writer.spill()
            layout.checkpoint(100).mkdir()
            assert not writer.checkpoint(100, metadata(100))
            assert writer.failures
        writer.add(records=[record(101)])
        assert writer.spill()
        assert not writer.failures
        assert layout.metadata(100).exists()
        assert steps(layout.live) == [101]  # the save has waited, and closed what was its own
        seen = steps(layout.segment(100)) + steps(layout.live)
        assert seen == sorted(set(seen))  # in order, none twice
        assert writer.records.written == len(seen)
        assert writer.records.written + writer.records.dropped == 101


def test_a_long_wait_for_the_next_spill_costs_no_record(layout: RunLayout) -> None:
    with RunWriter.begin(layout, capacity=100) as writer:
        for step in range(50):
            writer.add(records=[record(step)], generations=[metrics(step)])
        assert writer.records.dropped == 0
        assert layout.generations.exists()
    assert steps(layout.live) == list(range(50))
    assert len(layout.generations.read_text().splitlines()) == 50


def test_a_record_is_never_there_before_its_generation(layout: RunLayout) -> None:
    with RunWriter.begin(layout) as writer:
        with files_no_larger_than(0):
            writer.add(records=[record(1)], generations=[metrics(1)])
            writer.spill()
        order: list[str] = []
        for name, spool in (("generations", writer.generations), ("records", writer.records)):
            append = spool.file.append

            def noted(lines: bytes, name: str = name, append: object = append) -> None:
                order.append(name)
                append(lines)  # type: ignore[operator]

            spool.file.append = noted  # type: ignore[method-assign]
        writer.spill()
        assert order == ["generations", "records"]


def test_lines_are_ascii_and_never_nan() -> None:
    assert line(metrics(1)).count(b"\n") == 1
    value = metadata(1).model_copy(update={"catalog_path": "a\u2028b\x85ü\n"})
    assert line(value).isascii()
    assert line(value).count(b"\n") == 1
    with pytest.raises(ValueError, match="JSON"):
        line(metrics(1).model_copy(update={"rewards_mean": float("nan")}))
