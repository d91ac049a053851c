import threading
from pathlib import Path

import pytest
import torch

from sonde.runs.layout import RunLayout
from sonde.runs.totals import totals
from sonde.runs.writer import RunWriter
from sonde.training.encoding import Encoder
from sonde.training.metadata import Task, last_checkpoint, metadata
from sonde.training.pieces import PassSlice
from sonde.training.session import Session
from sonde.training.summary import StepSummary
from tests.runs.full_disk import files_no_larger_than, no_room_in
from tests.training.test_metadata import info
from tests.training.test_pieces import sample
from tests.training.tiny_run import lines, records, tiny_sae


@pytest.fixture
def layout(tmp_path: Path) -> RunLayout:
    return RunLayout(tmp_path)


def piece(n: int = 4, value: float = 1.0) -> PassSlice:
    samples = tuple(sample(place) for place in range(n))
    return PassSlice(samples, (2,) * n, 1, {0: torch.full((2 * n, 16), value)})


def session(layout: RunLayout, **changes: object) -> Session:
    encoder = Encoder({0: tiny_sae(0)}, k=16)
    return Session(RunWriter.begin(layout), encoder, info(Task(), []), **changes)  # type: ignore[arg-type]


def test_a_step_is_written_behind_the_trainer(layout: RunLayout) -> None:
    heard: list[StepSummary] = []
    run = session(layout, listen=heard.append)
    for step in (1, 2):
        run.hand_over(step, [piece()], seconds=0.25)
    run.close("finished")
    assert [record["step"] for record in records(layout.directory)] == [1] * 8 + [2] * 8
    assert len(lines(layout.generations)) == 8
    assert len(lines(layout.metrics)) == 2
    health = lines(layout.health)
    assert [line["records_written"] for line in health] == [8, 16]
    assert health[0]["sidecar_ms"] == 250
    assert [summary.step for summary in heard] == [1, 2]
    assert lines_of_info(layout)["status"] == "finished"


def lines_of_info(layout: RunLayout) -> dict[str, object]:
    import json

    found: dict[str, object] = json.loads(layout.run_info.read_text())
    return found


def test_records_wait_for_their_cadence_and_generations_do_not(layout: RunLayout) -> None:
    run = session(layout, spill_every=2)
    run.hand_over(1, [piece()], 0.0)
    run._background.drain()
    assert not layout.live.exists()
    assert len(lines(layout.generations)) == 4
    assert not layout.health.exists()
    run.hand_over(2, [piece()], 0.0)
    run._background.drain()
    assert len(records(layout.directory)) == 16
    assert len(lines(layout.health)) == 1
    run.close("finished")


def test_a_background_that_is_behind_costs_whole_generations_and_is_counted(
    layout: RunLayout,
) -> None:
    go = threading.Event()
    weight = piece().weight
    run = session(layout, capacity=int(2.5 * weight))
    run._background.submit(lambda: None if go.wait() else None)
    for step in range(1, 6):
        run.hand_over(step, [piece()], 0.0)
    go.set()
    run.close("finished")
    generations = lines(layout.generations)
    assert len(generations) == 5 * 4  # every completion has its line and its reward
    found = records(layout.directory)
    spans = {
        (each["step"], each["generation_id"]): range(each["token_start"], each["token_end"])
        for each in generations
    }
    held = {
        key: [r["token_index"] for r in found if r["step"] == key[0] and r["token_index"] in span]
        for key, span in spans.items()
    }
    assert all(len(tokens) in (0, 2) for tokens in held.values())  # whole, or not at all
    last = lines(layout.health)[-1]
    dropped = sum(not tokens for tokens in held.values())
    assert dropped == last["generations_dropped"] == 20 - 2 * 4 - 2
    assert last["records_written"] + last["records_dropped"] == 5 * 8


def test_what_several_ranks_encoded_is_bounded_too(layout: RunLayout) -> None:
    go = threading.Event()
    run = session(layout, capacity=1500)
    done = run.encoder.encode([piece()])
    run._background.submit(lambda: None if go.wait() else None)
    for step in (1, 2, 3):
        run.hand_over_encoded(step, done, 0.0)
    go.set()
    run.close("finished")
    last = lines(layout.health)[-1]
    assert last["records_dropped"] > 0
    assert last["records_written"] + last["records_dropped"] == 24


def test_a_full_disk_is_said_outlived_and_made_good(layout: RunLayout) -> None:
    heard: list[StepSummary] = []
    run = session(layout, listen=heard.append)
    run.hand_over(1, [piece()], 0.0)
    run._background.drain()
    with files_no_larger_than(layout.generations.stat().st_size):
        for step in (2, 3, 4):
            run.hand_over(step, [piece()], 0.0)
        run._background.drain()
        assert [alarm for each in heard for alarm in each.new_alarms if "cannot write" in alarm]
    run.hand_over(5, [piece()], 0.0)
    run.close("finished")
    assert [record["step"] for record in records(layout.directory)] == [
        step for step in range(1, 6) for _ in range(8)
    ]
    assert [line["iteration"] for line in lines(layout.metrics)] == [1, 2, 3, 4, 5]
    last = lines(layout.health)[-1]
    assert (last["records_written"], last["records_dropped"], last["alarms"]) == (40, 0, [])


def test_03_what_a_full_disk_never_took_is_in_the_counts_the_health_and_the_description(
    layout: RunLayout,
) -> None:
    run = session(layout)
    run.hand_over(1, [piece()], 0.0)
    run._background.drain()
    with no_room_in(layout.live):
        for step in (2, 3):
            run.hand_over(step, [piece()], 0.0)
        assert not run.settle()
        layout.checkpoint(3).mkdir()
        assert not run.checkpoint(3, metadata("run", Task(), step=3, started=0.0, commit=None))
        ended = run.close("finished")
    assert ended.lost == "16 records and the metadata of checkpoint-3"
    assert "No space left" in ended.why
    assert (ended.counts.records_written, ended.counts.records_lost) == (8, 16)
    last = lines(layout.health)[-1]
    assert (last["records_written"], last["records_dropped"], last["records_lost"]) == (8, 16, 16)
    assert "records lost: the disk did not take 16 records" in last["alarms"]
    assert "16 records" in str(lines_of_info(layout)["error"])
    assert last_checkpoint(layout) is None


def test_03_a_disk_that_takes_nothing_at_all_does_not_fail_a_training_that_is_over(
    layout: RunLayout,
) -> None:
    run = session(layout)
    with files_no_larger_than(0):
        run.hand_over(1, [piece()], 0.0)
        ended = run.close("finished")
    assert ended.lost == "8 records and 7 other lines"  # 4 generations, metrics, health, telemetry
    assert lines_of_info(layout)["status"] == "running"  # as after a kill


def test_counts_after_a_resume_are_of_the_run(layout: RunLayout) -> None:
    run = session(layout, spill_every=2)
    run.hand_over(1, [piece(value=float("inf"))], 0.0)
    run.settle()
    layout.checkpoint(1).mkdir()
    run.checkpoint(1, metadata("run", Task(), step=1, started=0.0, commit=None))
    run._records_dropped = 5
    run.hand_over(2, [piece()], 0.0)
    run.close("stopped")
    assert [line["step"] for line in lines(layout.health)] == [1, 2]  # at the save, and at a spill
    writer = RunWriter.resume(layout, 1)
    again = Session(
        writer, Encoder({0: tiny_sae(0)}, k=16), info(Task(), []), before=totals(layout)
    )
    again.hand_over(2, [piece()], 0.0)
    ended = again.close("finished")
    assert (ended.counts.records_written, ended.counts.records_dropped) == (16, 0)
    last = lines(layout.health)[-1]
    assert (last["records_written"], last["layers"][0]["records_written"]) == (16, 16)
    assert last["layers"][0]["non_finite"]["reconstruction_loss"] == 8


def test_06_a_second_pass_over_the_same_completions_is_no_second_lot_of_them(
    layout: RunLayout,
) -> None:
    run = session(layout)
    seen: list[int] = []
    look = run.alarms.look
    run.alarms.look = lambda samples, *rest: seen.append(len(samples)) or look(samples, *rest)  # type: ignore[method-assign,func-returns-value]
    for step in (1, 2):
        run.hand_over(step, [piece()], 0.0)
    run.close("finished")
    found = [
        (line["generation_id"], line["step"], line["pass"]) for line in lines(layout.generations)
    ]
    assert found == [(f"1-{n}", 1, 1) for n in range(4)] + [(f"1-{n}", 2, 2) for n in range(4)]
    assert seen == [4, 0]  # warnings count completions once
    assert len(lines(layout.metrics)) == 2  # every optimizer step has its line


def test_values_that_are_not_finite_are_counted_in_health(layout: RunLayout) -> None:
    run = session(layout)
    run.hand_over(1, [piece(value=float("inf"))], 0.0)
    run.close("finished")
    assert all(record["reconstruction_loss"] is None for record in records(layout.directory))
    (line,) = lines(layout.health)
    assert line["layers"][0]["non_finite"]["reconstruction_loss"] == 8


def test_a_checkpoint_waits_for_what_was_handed_over(layout: RunLayout) -> None:
    run = session(layout)
    for step in range(1, 9):
        run.hand_over(step, [piece()], 0.0)
    layout.checkpoint(8).mkdir()
    assert run.checkpoint(8, metadata("run", Task(), step=8, started=0.0, commit=None))
    assert {record["step"] for record in lines(layout.snapshot(8))} == set(range(1, 9))
    run.close("stopped", "by hand")
    assert lines_of_info(layout)["error"] == "by hand"
