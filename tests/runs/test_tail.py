"""Every whole line once, in order, whatever happens to the files."""

import os

import pytest

import sonde.runs.watched
from sonde.runs.hub import Hub
from sonde.runs.listing import list_run
from tests.runs.ear import Ear
from tests.runs.trainer import Trainer

pytestmark = pytest.mark.anyio


async def test_the_live_file_is_read_from_its_beginning_and_followed(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(3)
    ear = Ear(hub, "active")
    assert await ear.hear() == [0, 1, 2]
    assert ear.notices == [("source", {"source": "live", "path": str(trainer.layout.live)})]
    trainer.write(2)
    assert await ear.hear() == [0, 1, 2, 3, 4]
    assert len(ear.notices) == 1


async def test_half_a_line_is_held_back_until_it_is_whole(trainer: Trainer, hub: Hub) -> None:
    trainer.write(2)
    ear = Ear(hub)
    trainer.tear()
    assert await ear.hear() == [0, 1]
    trainer.mend()
    assert await ear.hear() == [0, 1, 2]


async def test_a_rotation_is_no_news(trainer: Trainer, hub: Hub) -> None:
    trainer.write(3)
    ear = Ear(hub)
    await ear.hear()
    for step in (10, 100, 1000):
        trainer.write(2)
        trainer.rotate(step)
        trainer.write(1)
    assert await ear.hear() == list(range(trainer.written))
    assert ear.sources == ["live"]


async def test_one_far_behind_reads_segments_in_numeric_order(trainer: Trainer, hub: Hub) -> None:
    for step in (9, 50, 100, 1000):
        trainer.write(5)
        trainer.rotate(step)
    trainer.write(1)
    assert await Ear(hub, "start").hear() == list(range(21))


async def test_what_was_written_just_before_a_rotation_is_not_overlooked(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(1)
    ear = Ear(hub)
    await ear.hear()
    trainer.write(5)  # nobody looks
    trainer.rotate(50)
    assert await ear.hear() == list(range(6))


async def test_a_rotation_while_the_directory_is_being_looked_at_is_not_overlooked(
    trainer: Trainer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rotations happen between opening the live file and listing the segments."""
    trainer.write(1)
    ear = Ear(hub)
    await ear.hear()
    steps = [50, 100]

    def late(*arguments: object) -> object:
        if steps:
            trainer.write(1)
            trainer.rotate(steps.pop(0))
            trainer.write(1)
        return list_run(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(sonde.runs.watched, "list_run", late)
    for _ in range(4):
        await ear.hear()
    assert await ear.hear() == list(range(trainer.written))
    assert ear.sources == ["live"]


async def test_truncation_is_told_and_the_new_content_comes_from_its_start(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(20)
    ear = Ear(hub)
    await ear.hear()
    trainer.truncate()
    trainer.write(5)
    assert await ear.hear() == list(range(25))
    assert ear.sources == ["live", "the file was truncated or rewritten"]


async def test_a_rewrite_that_is_longer_than_before_is_noticed(trainer: Trainer, hub: Hub) -> None:
    trainer.write(5)
    ear = Ear(hub)
    await ear.hear()
    trainer.truncate()
    trainer.write(50)
    assert await ear.hear() == list(range(55))
    assert len(ear.sources) == 2


async def test_a_writer_that_takes_back_half_a_line_has_truncated_nothing(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(5)
    ear = Ear(hub)
    trainer.tear()
    await ear.hear()
    trainer.crash()
    trainer.write(5)
    assert await ear.hear() == list(range(10))
    assert ear.sources == ["live"]


async def test_a_replaced_file_is_read_to_its_end_first(trainer: Trainer, hub: Hub) -> None:
    trainer.write(2)
    ear = Ear(hub)
    await ear.hear()
    trainer.write(3)  # unread
    trainer.replace(4)
    assert await ear.hear() == list(range(9))
    assert ear.sources == ["live", "the live file was replaced"]


async def test_a_deleted_file_is_read_to_its_end_then_idle_then_the_new_one(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(2)
    ear = Ear(hub)
    await ear.hear()
    trainer.write(3)  # unread
    trainer.layout.live.unlink()
    for _ in range(5):
        await ear.hear()
    assert ear.numbers == list(range(5))
    assert [event for event, _ in ear.notices] == ["source", "idle"]
    trainer.write(2)
    assert await ear.hear() == list(range(7))
    assert ear.sources[-1] == "the live file was replaced"


async def test_without_a_live_file_the_newest_snapshot_is_read_then_newer_ones(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.snapshot(50, 2)
    trainer.snapshot(100, 3)
    ear = Ear(hub, "active")
    assert await ear.hear() == [2, 3, 4]
    assert ear.sources == ["snapshot:checkpoint-100"]
    trainer.snapshot(150, 1)
    trainer.snapshot(1000, 1)
    assert await ear.hear() == [2, 3, 4, 5, 6]
    rolled = [data for event, data in ear.notices if event == "checkpoint"]
    assert rolled == [
        {"step": 150, "checkpoint": "checkpoint-150"},
        {"step": 1000, "checkpoint": "checkpoint-1000"},
    ]
    trainer.write(2)
    assert await ear.hear() == [2, 3, 4, 5, 6, 7, 8]
    assert ear.sources[-1] == "live"


async def test_a_snapshot_that_is_still_being_written_is_followed(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.snapshot(50, 2)
    ear = Ear(hub, "active")
    await ear.hear()
    with trainer.layout.snapshot(50).open("ab") as file:
        file.write(trainer.line(2))
    assert await ear.hear() == [0, 1, 2]


async def test_a_live_file_that_nobody_writes_to_does_not_hide_newer_checkpoints(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.snapshot(10, 1)
    trainer.step = 12
    trainer.write(2)
    long_ago = trainer.layout.live.stat().st_mtime - 1000
    os.utime(trainer.layout.live, (long_ago, long_ago))
    os.utime(trainer.layout.snapshot(10), (long_ago - 10, long_ago - 10))
    ear = Ear(hub, "active")
    assert await ear.hear() == [1, 2]
    assert ear.sources == ["live"]
    trainer.snapshot(50, 2)
    assert await ear.hear() == [1, 2, 3, 4]
    assert ear.notices[-1][1]["source"] == "snapshot:checkpoint-50"
    assert await Ear(hub, "active").hear() == [3, 4]
    trainer.write(1)  # it lives after all: go on where it was left
    assert await ear.hear() == [1, 2, 3, 4, 5]
    assert ear.sources[-1] == "live"


async def test_05_a_live_file_that_grows_is_read_whatever_the_clock_says(
    trainer: Trainer, hub: Hub
) -> None:
    """The clock was set back: the snapshot is newer than what is being written."""
    trainer.step = 51
    trainer.snapshot(50, 2)
    tomorrow = trainer.layout.snapshot(50).stat().st_mtime + 86400
    os.utime(trainer.layout.snapshot(50), (tomorrow, tomorrow))
    trainer.write(2)
    ear = Ear(hub, "active")
    assert await ear.hear() == [2, 3]
    assert ear.sources == ["live"]


async def test_05_where_steps_say_nothing_growth_does(trainer: Trainer, hub: Hub) -> None:
    """Some trainers write step 0 in every record."""
    trainer.snapshot(50, 2)
    tomorrow = trainer.layout.snapshot(50).stat().st_mtime + 86400
    os.utime(trainer.layout.snapshot(50), (tomorrow, tomorrow))
    trainer.write(2)
    ear = Ear(hub, "active")
    assert await ear.hear() == [0, 1]  # nothing is known yet but the times of files
    trainer.write(1)
    assert await ear.hear() == [0, 1, 2, 3, 4]
    assert ear.notices[-1][1]["source"] == "live"
    trainer.write(1)
    assert await ear.hear() == [0, 1, 2, 3, 4, 5]
    assert await Ear(hub, "active").hear() == [2, 3, 4, 5]


async def test_05_a_live_file_from_the_future_that_nobody_writes_to_hides_nothing_for_ever(
    trainer: Trainer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer.write(2)
    tomorrow = trainer.layout.live.stat().st_mtime + 86400
    os.utime(trainer.layout.live, (tomorrow, tomorrow))
    trainer.snapshot(50, 2)
    ear = Ear(hub, "active")
    assert await ear.hear() == [0, 1]
    monkeypatch.setattr(sonde.runs.watched, "STALE_SECONDS", -1.0)  # as if it were later
    assert await ear.hear() == [0, 1, 2, 3]
    assert ear.notices[-1][1]["source"] == "snapshot:checkpoint-50"


async def test_a_listener_in_the_gap_of_a_rotation_gets_the_snapshot_then_the_live_file(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(3)
    trainer.rotate(50)
    ear = Ear(hub, "active")
    assert await ear.hear() == [0, 1, 2]
    assert ear.sources == ["snapshot:checkpoint-50"]
    trainer.write(2)
    assert await ear.hear() == list(range(5))
    assert ear.sources == ["snapshot:checkpoint-50", "live"]


async def test_after_a_resume_abandoned_steps_are_left_and_told_once(
    trainer: Trainer, hub: Hub
) -> None:
    """W5: stop at step 57, resume from 50."""
    trainer.write(5)
    trainer.rotate(50)
    trainer.write(4)
    ear, behind = Ear(hub), Ear(hub, "start")
    await ear.hear()
    trainer.write(2)  # unread, and never counted
    trainer.layout.live.rename(trainer.layout.abandoned(50))
    trainer.write(3)
    assert await ear.hear() == [*range(9), 11, 12, 13]
    assert len(ear.sources) == 2
    assert "resumed" in ear.sources[1]
    assert await behind.hear() == [0, 1, 2, 3, 4, 11, 12, 13]


async def test_a_segment_that_a_resume_cut_is_not_read_twice(trainer: Trainer, hub: Hub) -> None:
    trainer.write(6)
    ear = Ear(hub)
    await ear.hear()
    kept = sum(len(trainer.line(number)) for number in range(4))
    trainer.layout.segments.mkdir()
    trainer.layout.abandoned(40).write_bytes(trainer.layout.live.read_bytes()[kept:])
    os.truncate(trainer.layout.live, kept)
    await ear.hear()  # between the cut and the renaming
    trainer.layout.live.rename(trainer.layout.segment(40))
    trainer.write(2)
    assert await ear.hear() == list(range(8))
    assert len(ear.sources) == 2
    assert await Ear(hub, "start").hear() == [0, 1, 2, 3, 6, 7]


async def test_a_live_file_that_lost_its_end_and_stays_is_read_anew(
    trainer: Trainer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sonde.runs.watched, "CUT_SECONDS", 0.0)
    trainer.write(6)
    ear = Ear(hub)
    await ear.hear()
    os.truncate(trainer.layout.live, len(trainer.line(0)))
    assert await ear.hear() == [0, 1, 2, 3, 4, 5, 0]


async def test_idle_is_said_at_most_every_two_seconds(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("sonde.runs.tail.time.monotonic", lambda: now)
    ear = Ear(hub)
    for _ in range(100):
        await ear.hear()
        now += 0.1
    assert 4 <= len(ear.notices) <= 6
    assert {event for event, _ in ear.notices} == {"idle"}


@pytest.mark.parametrize("begin", ["active", "live", "start"])
async def test_one_who_waited_from_before_the_beginning_gets_all_of_it(
    trainer: Trainer, hub: Hub, begin: str
) -> None:
    ear = Ear(hub, begin)
    await ear.hear()
    for step in (1, 2):
        trainer.write(2)
        trainer.rotate(step)
    trainer.write(1)
    assert await ear.hear() == list(range(5))


async def test_companions_have_places_of_their_own(trainer: Trainer, hub: Hub) -> None:
    trainer.write(2)
    trainer.layout.metrics.write_bytes(b'{"iteration":1}\n')
    ear = Ear(hub, include=("metrics", "generation"))
    await ear.hear()
    trainer.layout.generations.write_bytes(b'{"R":1}\n{"R":')
    with trainer.layout.metrics.open("ab") as file:
        file.write(b'{"iteration":2}\n')
    trainer.write(1)
    await ear.hear()
    ear.leave()
    assert ear.numbers == [0, 1, 2]
    assert [line["iteration"] for line in ear.lines if "iteration" in line] == [1, 2]
    assert [event for event, _ in ear.notices] == ["source"]
    for place, id in enumerate(
        ear.ids
    ):  # any event is a place to go on from; the first is `source`
        again = Ear(hub, id, include=("metrics", "generation"))
        await again.hear()
        again.leave()
        heard = ear.lines[:place] + again.lines
        assert sorted(map(str, heard)) == sorted(map(str, ear.lines))


async def test_lines_that_a_resume_cut_off_a_companion_are_not_repeated(
    trainer: Trainer, hub: Hub
) -> None:
    path = trainer.layout.metrics
    path.write_bytes(b'{"iteration":1}\n{"iteration":2}\n{"iteration":3}\n')
    ear = Ear(hub, include=("metrics",))
    await ear.hear()
    os.truncate(path, len(b'{"iteration":1}\n'))
    await ear.hear()
    with path.open("ab") as file:
        file.write(b'{"iteration":20}\n')
    await ear.hear()
    path.unlink()
    path.write_bytes(b'{"iteration":5}\n')
    await ear.hear()
    assert [line["iteration"] for line in ear.lines] == [1, 2, 3, 20, 5]
