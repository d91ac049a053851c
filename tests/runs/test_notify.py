"""Notifications of the kernel: at once, then together; and the reasons why there are none."""

import asyncio
import ctypes
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sonde.runs import notify
from sonde.runs.notify import Inotify, why_not

pytestmark = pytest.mark.anyio


@pytest.fixture
async def inotify() -> AsyncIterator[Inotify]:
    made = Inotify(lambda: 0.05)
    yield made
    made.close()


async def until(met: Callable[[], bool]) -> None:
    """Wait for a fact."""
    async with asyncio.timeout(10):
        while not met():
            await asyncio.sleep(0.001)


async def test_a_change_is_told_and_many_at_once_are_told_together(
    tmp_path: Path, inotify: Inotify
) -> None:
    pokes: list[float] = []
    inotify.watch(tmp_path, lambda: pokes.append(time.monotonic()), lambda: None)
    (tmp_path / "a").write_text("x")
    await until(lambda: len(pokes) == 1)
    for number in range(200):
        (tmp_path / "a").write_text(str(number))
    await until(lambda: len(pokes) >= 2)
    await asyncio.sleep(0.12)
    assert len(pokes) <= 3
    assert pokes[1] - pokes[0] >= 0.04


async def test_while_notifications_are_collected_the_loop_does_not_spin(tmp_path: Path) -> None:
    pokes: list[float] = []
    inotify = Inotify(lambda: 3600.0)  # collecting outlasts the test on any machine
    try:
        inotify.watch(tmp_path, lambda: pokes.append(time.monotonic()), lambda: None)
        (tmp_path / "a").write_text("x")
        await until(lambda: bool(pokes))
        (tmp_path / "a").write_text("y")  # unread while collecting
        began = time.process_time()
        await asyncio.sleep(0.2)
        assert time.process_time() - began < 0.1
        assert inotify.pending()
    finally:
        inotify.close()


async def test_a_folder_that_is_deleted_is_told_and_forgotten(
    tmp_path: Path, inotify: Inotify
) -> None:
    folder, told = tmp_path / "a", []
    folder.mkdir()
    watch = inotify.watch(folder, lambda: told.append("poke"), lambda: told.append("gone"))
    folder.rmdir()
    await until(lambda: "gone" in told)
    assert "poke" in told
    inotify.unwatch(watch)  # does no harm


async def test_after_unwatch_nothing_is_told(tmp_path: Path, inotify: Inotify) -> None:
    told: list[int] = []
    watch = inotify.watch(tmp_path, lambda: told.append(1), lambda: None)
    inotify.unwatch(watch)
    (tmp_path / "a").write_text("x")
    await asyncio.sleep(0.05)
    assert told == []


async def test_when_the_kernels_queue_overflows_everyone_is_told(
    tmp_path: Path, inotify: Inotify
) -> None:
    told: list[str] = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        inotify.watch(tmp_path / name, lambda name=name: told.append(name), lambda: None)  # type: ignore[misc]
    overflow = notify._HEADER.pack(-1, 0x4000, 0, 0)
    for poke in inotify._poked(overflow):
        poke()
    assert sorted(told) == ["a", "b"]


async def test_what_cannot_be_watched_is_an_error_with_the_kernels_words(
    tmp_path: Path, inotify: Inotify
) -> None:
    with pytest.raises(OSError, match="No such file"):
        inotify.watch(tmp_path / "absent", lambda: None, lambda: None)
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="Not a directory"):
        inotify.watch(tmp_path / "file", lambda: None, lambda: None)


def test_a_local_file_system_can_tell_and_a_network_one_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert why_not(tmp_path) is None
    assert why_not(tmp_path / "absent") is None
    answer = ctypes.create_string_buffer(512)
    ctypes.CDLL(None).statfs(os.fsencode(tmp_path), answer)
    kind = ctypes.c_long.from_buffer(answer).value & 0xFFFFFFFF
    monkeypatch.setattr(notify, "NETWORK_FILE_SYSTEMS", {kind: "NFS"})
    assert "NFS" in str(why_not(tmp_path))
    monkeypatch.setattr("sys.platform", "darwin")
    assert "darwin" in str(why_not(tmp_path))
