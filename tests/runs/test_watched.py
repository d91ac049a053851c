"""A look learns what changed, shares what is open, and tells those who wait."""

import asyncio
import os

import pytest

from sonde.runs.blocks import BlockCache
from sonde.runs.watched import WatchedRun
from tests.runs.ear import NUMBERED
from tests.runs.trainer import Trainer

pytestmark = pytest.mark.anyio


@pytest.fixture
def run(trainer: Trainer) -> WatchedRun:
    return WatchedRun(trainer.layout, BlockCache())


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_a_look_says_whether_anything_changed_and_tells(
    trainer: Trainer, run: WatchedRun
) -> None:
    trainer.write(1)
    assert run.look()
    told = run.news.told
    assert not run.look()
    assert run.news.told == told
    trainer.write(1)
    assert run.look()
    assert run.news.told > told
    run.close()


async def test_files_are_opened_once_and_closed_after_the_last(
    trainer: Trainer, run: WatchedRun
) -> None:
    before = open_descriptors()
    trainer.write(1)
    trainer.rotate(50)
    trainer.write(1)
    run.look()
    [closed] = run.listing.closed
    files = [run.take(closed) for _ in range(100)]
    assert len(set(files)) == 1
    assert open_descriptors() == before + 2
    for file in files:
        assert file is not None
        run.give_back(file)
    run.close()
    assert open_descriptors() == before


async def test_a_block_is_made_once_for_all_who_want_it_the_same_way(
    trainer: Trainer, run: WatchedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer.write(3)
    run.look()
    assert run.live is not None
    for _ in range(2):
        run.share(run.live)
    made = [await run.encoded(run.live, 0, NUMBERED, "a.") for _ in range(5)]
    assert len({id(one) for one in made}) == 1
    others = [
        await run.encoded(run.live, 0, NUMBERED, "b."),
        await run.encoded(run.live, 0, NUMBERED, "a.", "~m"),
    ]
    assert len({bytes(one.data) for one in (*made, *others) if one}) == 3
    run.close()


async def test_nothing_is_kept_for_one_who_reads_alone(trainer: Trainer) -> None:
    """A long replay would only push out of memory what others share."""
    cache = BlockCache()
    run = WatchedRun(trainer.layout, cache)
    trainer.write(3)
    trainer.rotate(50)
    trainer.write(3)
    run.look()
    [closed] = run.listing.closed
    files = run.live, run.take(closed)
    for file in files:
        assert file is not None
        await run.encoded(file, 0, NUMBERED, "a.")
        assert cache.bytes == 0
    for file in files:
        assert file is not None
        run.share(file)
        run.share(file)
        before = cache.bytes
        await run.encoded(file, 0, NUMBERED, "a.")
        assert cache.bytes > before
    run.close()


async def test_at_the_end_of_a_file_only_the_first_asks_the_disk(
    trainer: Trainer, run: WatchedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer.write(1)
    run.look()
    file = run.live
    assert file is not None
    reads, read = 0, file.read

    async def counted(start: int) -> object:
        nonlocal reads
        reads += 1
        return await read(start)

    monkeypatch.setattr(file, "read", counted)
    for _ in range(5):
        assert await run.encoded(file, file.size, NUMBERED, "") is None
    assert reads == 1
    trainer.write(1)
    run.look()
    assert await run.encoded(file, len(trainer.line(0)), NUMBERED, "") is not None
    run.close()


async def test_lines_stop_at_a_limit(trainer: Trainer, run: WatchedRun) -> None:
    trainer.write(5)
    run.look()
    assert run.live is not None
    limit = sum(len(trainer.line(number)) for number in range(2))
    some = await run.encoded(run.live, 0, NUMBERED, "", limit=limit)
    assert some is not None
    assert (some.count, some.end) == (2, limit)
    run.close()


async def test_records_are_counted_once_however_many_listen(
    trainer: Trainer, run: WatchedRun
) -> None:
    trainer.write(5)
    run.look()
    assert run.live is not None
    for before in ("a", "b", "c"):
        await run.encoded(run.live, 0, NUMBERED, before)
    assert run.records_read == 5
    run.close()


async def test_content_that_is_written_over_while_it_is_read_is_not_sent(
    trainer: Trainer, run: WatchedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer.write(10)
    run.look()
    file = run.live
    assert file is not None
    first = await run.encoded(file, 0, NUMBERED, "")
    assert first is not None
    read = file.read

    async def late(start: int) -> object:
        trainer.truncate()
        trainer.write(40)
        return await read(start)

    monkeypatch.setattr(file, "read", late)
    assert await run.encoded(file, first.end, NUMBERED, "") is None
    run.look()
    assert file.epoch == 1
    run.close()


async def test_a_broken_run_json_does_not_matter(trainer: Trainer, run: WatchedRun) -> None:
    trainer.write(1)
    for content in ("", "[]", '{"run_id": 7}', "{", '{"run_id": "x"}'):
        trainer.layout.run_info.write_text(content)
        run.look()
        assert (run.digest == "-") == ("x" not in content)
        await asyncio.sleep(0)
    run.close()
