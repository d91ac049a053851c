"""One reader, many listeners: which run, told by whom, and what is left afterwards."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from sonde.errors import UnknownRun
from sonde.runs import hub as module
from sonde.runs.files import LineFile
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.runs.lock import WriterLock
from sonde.runs.notify import Inotify
from sonde.runs.watched import POLL_SECONDS
from tests.runs.ear import NUMBERED, Ear
from tests.runs.trainer import Trainer

pytestmark = pytest.mark.anyio


async def heard(ear: Ear, count: int) -> list[int]:
    """Listen as a server does, by being told, until so many records have come."""
    async with asyncio.timeout(20):
        while len(ear.numbers) < count:
            news = ear.listener.run.news
            told = news.told
            while await ear.step():
                pass
            if len(ear.numbers) < count:
                await news.after(told)
    return ear.numbers


async def written_while_listening(trainer: Trainer, hub: Hub) -> list[int]:
    """A listener and a writer that rotates, at once."""
    ear = Ear(hub)

    async def write() -> None:
        for step in range(1, 6):
            for _ in range(4):
                trainer.write(3)
                await asyncio.sleep(0.003)
            trainer.rotate(step)

    writing = asyncio.create_task(write())
    numbers = await heard(ear, 60)
    await writing
    return numbers


async def test_listeners_are_told_by_the_kernel(trainer: Trainer, hub: Hub) -> None:
    assert await written_while_listening(trainer, hub) == list(range(60))
    assert hub.find(None).why_polling is None


async def test_a_directory_that_appears_later_is_found(trainer: Trainer, hub: Hub) -> None:
    trainer.layout.directory.rmdir()
    ear = Ear(hub)
    listening = asyncio.create_task(heard(ear, 2))
    await asyncio.sleep(0.05)
    trainer.layout.directory.mkdir()
    trainer.write(2)
    assert await listening == [0, 1]


async def test_a_directory_that_is_removed_and_made_again_is_found(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(2)
    ear = Ear(hub)
    await heard(ear, 2)
    trainer.layout.live.unlink()
    trainer.layout.directory.rmdir()
    listening = asyncio.create_task(heard(ear, 3))
    await asyncio.sleep(0.05)
    trainer.layout.directory.mkdir()
    trainer.write(1)
    assert await listening == [0, 1, 2]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE])
async def test_without_watches_left_the_files_are_looked_at_instead(
    trainer: Trainer, hub: Hub, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """S19."""

    def refused(*_arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Inotify, "watch", refused)
    assert await written_while_listening(trainer, hub) == list(range(60))
    assert os.strerror(number) in str(hub.find(None).why_polling)


async def test_on_a_network_file_system_the_files_are_looked_at_instead(
    trainer: Trainer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "why_not", lambda _folder: "NFS: others may write")
    assert await written_while_listening(trainer, hub) == list(range(60))
    assert hub.find(None).why_polling == "NFS: others may write"


async def test_a_kernel_that_stays_silent_is_found_out(
    trainer: Trainer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(module, "SILENT_SECONDS", 0.0)
    monkeypatch.setattr(Inotify, "watch", lambda *_arguments: 12345)
    assert await written_while_listening(trainer, hub) == list(range(60))
    assert hub.find(None).why_polling == "the kernel did not tell of a change"


async def test_looking_by_the_clock_is_often_enough() -> None:
    assert POLL_SECONDS <= 0.025


async def test_one_who_joins_does_not_keep_news_from_the_others(trainer: Trainer, hub: Hub) -> None:
    trainer.write(1)
    first = Ear(hub)
    await heard(first, 1)
    told = first.listener.run.news.told
    trainer.write(1)
    Ear(hub)  # looks, and so learns of the new line before the kernel tells
    assert first.listener.run.news.told > told


async def test_a_thousand_listeners_open_a_file_once(
    trainer: Trainer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer.write(5)
    reads, read = 0, LineFile.read

    async def counted(file: LineFile, start: int) -> object:
        nonlocal reads
        reads += 1
        return await read(file, start)

    monkeypatch.setattr(LineFile, "read", counted)
    before = len(os.listdir("/proc/self/fd"))
    ears = [Ear(hub) for _ in range(1000)]
    for ear in ears:
        while await ear.step():
            pass
        assert ear.numbers == list(range(5))
    assert len(os.listdir("/proc/self/fd")) <= before + 8
    assert reads <= 4
    for ear in ears:
        ear.leave()


async def test_after_the_last_listener_nothing_is_left_open(
    trainer: Trainer, hub: Hub, tmp_path: Path
) -> None:
    trainer.write(5)
    warm = Ear(hub)
    warm.leave()
    before = len(os.listdir("/proc/self/fd"))
    tasks = len(asyncio.all_tasks())
    ears = [Ear(hub, begin) for begin in ("start", "live", "active") for _ in range(20)]
    for ear in ears:
        await ear.step()
        await ear.step()
    for ear in ears:
        ear.leave()
    await asyncio.sleep(0.01)
    assert len(os.listdir("/proc/self/fd")) == before
    assert len(asyncio.all_tasks()) <= tasks
    assert hub.listeners == {}


async def test_one_who_does_not_come_back_for_long_loses_nothing_and_keeps_nothing(
    trainer: Trainer, hub: Hub
) -> None:
    """S11: its place is a file and a byte, so nothing is held for it."""
    trainer.write(1)
    slow, quick = Ear(hub), Ear(hub)
    await slow.hear()
    hub.cache.limit = 50_000
    for step in range(1, 11):
        trainer.write(200)
        await quick.hear()
        trainer.rotate(step)
    assert hub.cache.bytes <= hub.cache.limit
    assert len(quick.numbers) == trainer.written
    assert await slow.hear() == quick.numbers


async def test_05_the_run_that_is_being_written_is_the_newest_whatever_the_clock_says(
    tmp_path: Path,
) -> None:
    for name in ("older", "now"):
        Trainer(tmp_path / name).write(1)
    tomorrow = (tmp_path / "older").stat().st_mtime + 86400
    os.utime(RunLayout(tmp_path / "older").live, (tomorrow, tomorrow))
    hub = Hub(RunLayout(tmp_path))
    assert hub.layout_of(None).directory.name == "older"
    lock = WriterLock(tmp_path / "now")
    assert hub.layout_of(None).directory.name == "now"
    lock.release()
    await hub.close()


async def test_runs_are_found_by_name_and_the_newest_without_one(tmp_path: Path) -> None:
    root = tmp_path / "many"
    for number, name in enumerate(("a", "b", "c")):
        made = Trainer(root / name)
        made.write(1)
        for path in (made.layout.live, made.layout.directory):
            os.utime(path, (number, number) if name != "b" else (9, 9))
    hub = Hub(RunLayout(root))
    assert hub.layout_of("c").directory == root / "c"
    assert hub.layout_of(None).directory == root / "b"
    assert [hub.name_of(layout) for layout in hub.layouts()] == ["a", "b", "c"]
    Trainer(root).write(1)
    assert hub.layout_of(None).directory == root
    assert hub.name_of(hub.layout_of("root")) == "root"


@pytest.mark.parametrize(
    "name",
    ["..", ".", "", "../run", "a/b", "/etc", "a\0b", "x" * 10_000, "%2e%2e", "absent", "link"],
)
async def test_a_name_that_leads_out_or_nowhere_is_unknown(
    trainer: Trainer, hub: Hub, tmp_path: Path, name: str
) -> None:
    """E2."""
    Trainer(tmp_path / "outside").write(1)
    (trainer.layout.directory / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(UnknownRun):
        hub.find(name)


async def test_one_who_named_no_run_is_taken_to_the_first_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde.runs.tail.IDLE_SECONDS", 0.01)
    hub = Hub(RunLayout(tmp_path))
    listener = hub.listen(hub.find(None), NUMBERED, "active", anywhere=True)
    await listener.step()
    made = Trainer(tmp_path / "new")
    made.write(2)
    found = None
    async with asyncio.timeout(10):
        while not hasattr(found, "count"):
            found = await listener.step()
            await asyncio.sleep(0.005)
    assert listener.run.layout.directory == made.layout.directory
    listener.leave()
    await hub.close()


async def test_history_ends_where_it_ended_when_it_was_asked_for(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(3)
    trainer.rotate(50)
    trainer.write(2)
    ear = Ear(hub)
    next_id = ear.listener.stop_at_end()
    trainer.write(4)
    trainer.rotate(100)
    trainer.write(1)
    assert await ear.hear() == list(range(5))
    assert await ear.hear() == list(range(5))
    assert await Ear(hub, next_id).hear() == list(range(5, 10))


async def test_stopping_wakes_those_who_wait_and_cuts_those_who_do_not_read(
    trainer: Trainer, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEAVE_SECONDS", 0.01)
    trainer.write(1)
    ear = Ear(hub)
    stuck = asyncio.create_task(asyncio.Event().wait())
    ear.listener.task = stuck  # type: ignore[assignment]
    news = ear.listener.run.news
    waiting = asyncio.create_task(news.after(news.told))
    await asyncio.sleep(0)
    hub.stop()
    assert ear.listener.stopping
    await asyncio.wait_for(waiting, 5)
    with pytest.raises(asyncio.CancelledError):
        await stuck


async def test_notifications_are_collected_for_longer_the_more_there_are_who_wait(
    trainer: Trainer, hub: Hub
) -> None:
    """Those who do not read do not wait for news, and make nobody else wait."""
    trainer.write(1)
    ears = [Ear(hub) for _ in range(3)]
    run = ears[0].listener.run
    pauses = []
    waiting: list[asyncio.Task[None]] = []
    for count in (0, 1, 100, 1000, 3000):
        more = range(count - len(waiting))
        waiting += [asyncio.create_task(run.news.after(run.news.told)) for _ in more]
        await asyncio.sleep(0)
        pauses.append(hub.pause())
    run.news.tell()
    await asyncio.gather(*waiting)
    assert pauses == sorted(pauses)
    assert pauses[0] == 0.001
    assert pauses[2] > pauses[1] > pauses[0]
    assert pauses[-1] == 0.02
