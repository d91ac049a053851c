"""From an id back to its byte: across rotations, restarts, copies, and what was lost meanwhile."""

import os
import shutil
from pathlib import Path

import pytest

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from tests.runs.ear import Ear
from tests.runs.trainer import Trainer

pytestmark = pytest.mark.anyio


async def resumed(hub: Hub, id: str) -> tuple[list[int], list[str]]:
    """What a listener gets who comes back with an id."""
    ear = Ear(hub, id)
    numbers = await ear.hear()
    ear.leave()
    return numbers, ear.sources


async def left(hub: Hub) -> Ear:
    """One who heard all there was, and left."""
    ear = Ear(hub)
    await ear.hear()
    ear.leave()
    return ear


async def test_every_id_goes_on_with_the_next_record_also_after_rotations_and_a_restart(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(3)
    ear = Ear(hub)
    for step in (50, 100, 1000):
        trainer.write(2)
        await ear.hear()
        trainer.rotate(step)
        await ear.hear()
        trainer.write(2)
        await ear.hear()
    ids = ear.ids[1:]  # the first is of the `source` notice
    trainer.rotate(2000)
    trainer.write(1)
    other = Hub(RunLayout(trainer.layout.directory))
    for place, id in enumerate(ids):
        numbers, sources = await resumed(other, id)
        assert numbers == list(range(place + 1, trainer.written))
        assert sources == ["live"]
    await other.close()


async def test_the_id_of_a_notice_is_a_place_too(trainer: Trainer, hub: Hub) -> None:
    ear = Ear(hub)
    await ear.hear()  # idle
    trainer.write(2)
    await ear.hear()  # source
    for id in ear.ids[:2]:
        assert (await resumed(hub, id))[0] == [0, 1]


async def test_an_empty_live_file_is_a_place_after_the_last_segment(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(3)
    trainer.rotate(50)
    trainer.layout.live.touch()
    ids = []
    for begin in ("active", "live"):
        ear = Ear(hub, begin)
        assert await ear.hear() == []
        ids.append(ear.listener.id)
        ear.leave()
        assert (await resumed(hub, ids[-1]))[0] == []
    trainer.write(2)
    trainer.rotate(100)
    for id in ids:
        assert (await resumed(hub, id))[0] == [3, 4]


async def test_a_copy_of_the_directory_is_as_good(
    trainer: Trainer, hub: Hub, tmp_path: Path
) -> None:
    trainer.write(4)
    ear = Ear(hub)
    await ear.hear()
    trainer.rotate(50)
    trainer.write(2)
    shutil.copytree(trainer.layout.directory, tmp_path / "copy")
    other = Hub(RunLayout(tmp_path / "copy"))
    assert (await resumed(other, ear.ids[2]))[0] == [2, 3, 4, 5]
    await other.close()


async def test_files_that_begin_alike_are_told_apart_by_the_segment_before_them(
    trainer: Trainer, hub: Hub
) -> None:
    same = b'{"token_index": 7}\n'
    ear = Ear(hub)
    for step in (1, 2, 3):
        trainer.append(same * step)
        await ear.hear()
        trainer.rotate(step)
    trainer.append(same)
    await ear.hear()
    left = [len((await resumed(hub, id))[0]) for id in ear.ids[1:] if id.count(".") == 4]
    assert left == [6, 5, 4, 3, 2, 1, 0]


async def test_after_a_truncation_an_old_id_gets_the_new_content_and_the_reason(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(20)
    id = (await left(hub)).listener.id
    trainer.truncate()
    trainer.write(3)
    assert await resumed(hub, id) == (
        [20, 21, 22],
        ["the file that was read before was replaced"],
    )


async def test_after_a_rewrite_that_begins_alike_a_byte_inside_a_line_is_no_place(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.append(b'{"token_index": 1}\n{"token_index": 2}\n')
    id = (await left(hub)).listener.id
    trainer.truncate()
    trainer.append(b'{"token_index": 1}\n{"token_index": 2000, "more": [1, 2, 3]}\n')
    assert (await resumed(hub, id))[0] == [1, 2000]


async def test_after_a_replacement_only_what_is_new_is_sent(trainer: Trainer, hub: Hub) -> None:
    trainer.write(3)
    trainer.rotate(50)
    trainer.write(3)
    ear = await left(hub)
    trainer.replace(2)
    numbers, sources = await resumed(hub, ear.listener.id)
    assert numbers == [6, 7]
    assert sources == ["the file that was read before was replaced"]


async def test_an_id_in_an_abandoned_file_goes_on_after_the_step_resumed_from(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(3)
    trainer.rotate(50)
    trainer.write(3)
    ear = await left(hub)
    trainer.layout.live.rename(trainer.layout.abandoned(50))
    trainer.write(2)
    trainer.rotate(100)
    trainer.write(1)
    numbers, sources = await resumed(hub, ear.ids[-2])
    assert numbers == [6, 7, 8]
    assert "resumed" in sources[0]


async def test_an_id_beyond_the_end_of_a_segment_that_was_cut_goes_on_after_it(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(6)
    ear = await left(hub)
    cut_at(trainer, 4, resumed_from=40)
    trainer.write(2)
    old = ear.listener.id.rpartition(".")[0]  # without a check
    for id in (ear.listener.id, ear.ids[-1], ear.ids[5], old):
        assert (await resumed(hub, id))[0] == [6, 7]
    assert (await resumed(hub, ear.ids[3]))[0] == [3, 6, 7]


def cut_at(trainer: Trainer, count: int, resumed_from: int) -> None:
    """Set the tail of the live file aside and close what remains, as a resume does."""
    layout, place = trainer.layout, sum(len(trainer.line(number)) for number in range(count))
    layout.segments.mkdir(exist_ok=True)
    layout.abandoned(resumed_from).write_bytes(layout.live.read_bytes()[place:])
    os.truncate(layout.live, place)
    layout.live.rename(layout.segment(resumed_from))


async def test_04_a_segment_that_begins_alike_is_not_taken_for_the_file_after_it(
    trainer: Trainer, hub: Hub
) -> None:
    """Its records would be sent again."""
    trainer.begins_with = b'{"run": "the same first line"}\n'
    trainer.write(3)
    trainer.rotate(7)
    trainer.append(b"")  # the first line, and nothing else yet
    ear = await left(hub)
    trainer.layout.live.unlink()
    assert (await resumed(hub, ear.listener.id))[0] == []
    trainer.write(2)
    assert (await resumed(hub, ear.listener.id))[0] == [3, 4]


async def test_04_a_shorter_segment_that_begins_alike_is_not_taken_for_one_that_was_cut(
    trainer: Trainer, hub: Hub
) -> None:
    """Its records would never be sent."""
    trainer.begins_with = b'{"run": "the same first line"}\n'
    trainer.write(20)
    ear = await left(hub)
    trainer.layout.live.unlink()
    trainer.write(5)
    trainer.rotate(7)
    trainer.write(1)
    assert (await resumed(hub, ear.listener.id))[0] == list(range(20, 26))


async def test_another_run_in_the_same_place_is_sent_whole(trainer: Trainer, hub: Hub) -> None:
    """Also where its first record is the same, as with the same seed."""
    trainer.layout.run_info.write_text('{"run_id": "first"}')
    trainer.write(5)
    ear = await left(hub)
    shutil.rmtree(trainer.layout.directory)
    again = Trainer(trainer.layout.directory)
    again.layout.run_info.write_text('{"run_id": "second"}')
    again.write(2)
    again.rotate(50)
    again.write(4)
    numbers, sources = await resumed(hub, ear.listener.id)
    assert numbers == list(range(6))
    assert "another run" in sources[0]


async def test_what_comes_next_begins_after_the_last_whole_line(trainer: Trainer, hub: Hub) -> None:
    trainer.write(3)
    trainer.tear()
    ear = Ear(hub, "live")
    assert await ear.hear() == []
    trainer.mend()
    trainer.write(1)
    assert await ear.hear() == [3, 4]


async def test_a_place_in_a_snapshot_is_found_again(trainer: Trainer, hub: Hub) -> None:
    trainer.snapshot(50, 3)
    ear = Ear(hub, "active")
    await ear.hear()
    trainer.snapshot(100, 2)
    assert (await resumed(hub, ear.ids[2]))[0] == [2, 3, 4]
