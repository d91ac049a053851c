"""Files of lines: whole lines only, bounded blocks, nothing through links."""

import asyncio
import os
import tracemalloc
from pathlib import Path

import pytest

from sonde.runs.files import BLOCK, LineFile, identity_of, open_lines
from sonde.runs.lines import LINE_BYTES

pytestmark = pytest.mark.anyio


def opened(path: Path) -> LineFile:
    file = open_lines(path)
    assert file is not None
    return file


async def all_blocks(file: LineFile, start: int = 0) -> list[tuple[int, int]]:
    found = []
    while (block := await file.read(start)) is not None:
        assert block.too_long or block.data.endswith(b"\n")
        found.append((block.start, block.end))
        start = block.end
    return found


async def test_a_line_without_its_newline_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\nthr")
    file = opened(path)
    block = await file.read(0)
    assert block is not None
    assert (block.data, block.end) == (b"one\ntwo\n", 8)
    assert await file.read(8) is None
    with path.open("ab") as more:
        more.write(b"ee\n")
    block = await file.read(8)
    assert block is not None
    assert block.data == b"three\n"
    file.close()


async def test_blocks_are_bounded_and_readers_from_anywhere_agree_on_them(tmp_path: Path) -> None:
    path = tmp_path / "a"
    lines = [b"x" * (n % 700) + b"\n" for n in range(9000)]
    path.write_bytes(b"".join(lines))
    file = opened(path)
    blocks = await all_blocks(file)
    assert blocks[-1][1] == file.size
    assert all(end - start <= BLOCK + 4096 for start, end in blocks)
    middle = sum(map(len, lines[:777]))
    later = await all_blocks(file, middle)
    assert later[2:] == blocks[-len(later) + 2 :]
    file.close()


@pytest.mark.parametrize("ended", [True, False])
async def test_a_line_longer_than_any_buffer_is_skipped_in_bounded_memory(
    tmp_path: Path, ended: bool
) -> None:
    """S10."""
    path = tmp_path / "a"
    with path.open("wb") as made:
        made.write(b'{"a":1}\n{"a":"')
        for _ in range(60):
            made.write(b"x" * 2**20)
        made.write(b'"}\n{"b":2}\n' if ended else b"")
    file = opened(path)
    first = await file.read(0)
    assert first is not None
    assert (first.end, first.data) == (8, b'{"a":1}\n')
    tracemalloc.start()
    long = await file.read(8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * LINE_BYTES
    if not ended:
        assert long is None
        with path.open("ab") as more:
            more.write(b'"}\n{"b":2}\n')
        long = await file.read(8)
    assert long is not None
    assert long.too_long
    assert (await all_blocks(file, long.end)) == [(long.end, file.size)]
    file.close()


async def test_looking_for_the_end_of_a_long_line_lets_others_have_turns(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"{" + b"x" * (8 * 2**20))
    file, turns = opened(path), 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await file.read(0)
    task.cancel()
    assert turns > 7 * 2**20 // BLOCK
    file.close()


@pytest.mark.parametrize("support", [True, False])
async def test_what_is_not_in_memory_is_fetched_by_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, support: bool
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\n")
    file, calls = opened(path), []

    def cold(*arguments: object) -> int:
        calls.append(arguments)
        raise BlockingIOError if support else OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "preadv", cold)
    for _ in range(3):
        block = await file.read(0)
        assert block is not None
        assert block.data == b"one\ntwo\n"
    assert len(calls) == (3 if support else 1)
    file.close()


@pytest.mark.parametrize("start", [4, BLOCK // 2, BLOCK - 4000, BLOCK - 10])
async def test_how_long_a_line_may_be_does_not_depend_on_where_it_begins(
    tmp_path: Path, start: int
) -> None:
    path = tmp_path / "a"
    for length, whole in ((LINE_BYTES, True), (LINE_BYTES + 1, False)):
        path.write_bytes(b"x" * (start - 1) + b"\n" + b"y" * length + b"\n")
        file = opened(path)
        block = await file.read(start)
        assert block is not None
        assert block.too_long is not whole
        assert block.end == start + length + 1
        file.close()


def test_a_file_knows_when_it_was_cut_and_when_it_was_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\nthree\n")
    file = opened(path)
    file.reach(14)
    assert file.changed() == "no"
    os.truncate(path, 8)
    assert file.changed() == "cut"
    os.truncate(path, 0)
    assert file.changed() == "rewritten"
    with path.open("ab") as more:
        more.write(b"other\nthings\nthat are longer\n")
    assert file.changed() == "rewritten"
    old = file.fingerprint
    file.begin_anew()
    assert file.changed() == "no"
    assert (file.epoch, file.fingerprint == old) == (1, False)
    file.close()


def test_the_fingerprint_is_of_the_first_line_and_stays_as_the_file_grows(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\n\n")
    file = opened(path)
    assert file.fingerprint is None
    for piece in (b"fir", b"st\n", b"second\n" * 2000):
        with path.open("ab") as more:
            more.write(piece)
        file.find_head()
    found, again = file.fingerprint, opened(path)
    assert found is not None
    assert again.fingerprint == found
    again.close()
    file.close()


def test_links_folders_and_pipes_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "folder", "pipe", "absent"):
        assert open_lines(tmp_path / name) is None
        assert identity_of(tmp_path / name) is None


def test_the_last_whole_line_is_found_from_the_end(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n" + b"x" * (3 * BLOCK))
    file = opened(path)
    assert file.whole_size() == 4
    assert [file.fits(place) for place in (0, 3, 4, 5, 10**9)] == [True, False, True, False, False]
    file.close()
