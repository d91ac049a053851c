"""Being told by the operating system that something in a directory changed.

A notification only says "look": what changed is found by looking, so one that comes twice, late or
merged with others does no harm. The first is passed on at once. Then the descriptor leaves the
event loop's selector for a moment (left in, it would spin the loop) and whatever comes meanwhile is
one more notification.

Where the kernel cannot tell (another operating system, a network file system, no watches left), the
caller looks by itself; `why_not` says so in words.
"""

import asyncio
import ctypes
import os
import select
import struct
import sys
from collections.abc import Callable
from pathlib import Path

_MODIFY, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _ONLY_DIRECTORY = 0x400, 0x800, 0x0100_0000
_MASK = _MODIFY | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_HEADER = struct.Struct("iIII")
_IGNORED = 0x8000

NETWORK_FILE_SYSTEMS = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB",
    0x65735546: "FUSE",
    0x01021997: "9p",
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x00C36400: "Ceph",
    0x19830326: "BeeGFS",
    0x5346414F: "AFS",
    0x7461636F: "OCFS2",
    0x01161970: "GFS2",
}
"""Where others may write without this machine's kernel knowing."""


class Inotify:
    """One descriptor for all directories that are watched."""

    def __init__(self, pause: Callable[[], float]) -> None:
        """`pause` says for how many seconds notifications are collected after one was passed on."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._loop = asyncio.get_running_loop()
        self._pause = pause
        self._pokes: dict[int, Callable[[], None]] = {}
        self._gone: dict[int, Callable[[], object]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._descriptor = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._listen()

    def watch(self, directory: Path, poke: Callable[[], None], gone: Callable[[], object]) -> int:
        """Call `poke` when something in a directory changes, `gone` when it is deleted.

        -> what `unwatch` takes
        """
        name = os.fsencode(directory)
        found = self._libc.inotify_add_watch(self._descriptor, name, _MASK | _ONLY_DIRECTORY)
        watch = self._checked(found)
        self._pokes[watch] = poke
        self._gone[watch] = gone
        return watch

    def unwatch(self, watch: int) -> None:
        """Stop; also when the directory is gone and the kernel has stopped by itself."""
        self._gone.pop(watch, None)
        if self._pokes.pop(watch, None) is not None:
            self._libc.inotify_rm_watch(self._descriptor, watch)

    def pending(self) -> bool:
        """Whether the kernel has told something that was not read yet."""
        return bool(select.select([self._descriptor], [], [], 0)[0])

    def close(self) -> None:
        """Stop watching anything."""
        if self._timer is not None:
            self._timer.cancel()
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _listen(self) -> None:
        self._timer = None
        self._loop.add_reader(self._descriptor, self._readable)

    def _readable(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._timer = self._loop.call_later(self._pause(), self._listen)
        for poke in self._poked(self._drain()):
            poke()

    def _drain(self) -> bytes:
        try:
            return os.read(self._descriptor, 256 * 1024)
        except BlockingIOError:
            return b""

    def _poked(self, events: bytes) -> list[Callable[[], None]]:
        """Whom to tell: everyone when the kernel's queue overflowed."""
        watches: dict[int, None] = {}
        at = 0
        while at < len(events):
            watch, mask, _, length = _HEADER.unpack_from(events, at)
            at += _HEADER.size + length
            watches[watch] = None
            if mask & _IGNORED:  # the directory is gone, and its number may be given out again
                poke = self._pokes.pop(watch, None)
                if poke is not None:
                    self._gone.pop(watch)()
                    poke()
        if -1 in watches:
            return list(self._pokes.values())
        return [self._pokes[watch] for watch in watches if watch in self._pokes]

    def _checked(self, result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result


def why_not(directory: Path) -> str | None:
    """Why the kernel cannot tell of changes in a directory; None when it can, as far as is known.

    A file system that is not listed and stays silent all the same is noticed by who looks.
    """
    if not sys.platform.startswith("linux"):
        return f"no inotify on {sys.platform}"
    answer = ctypes.create_string_buffer(512)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.statfs(os.fsencode(directory), answer) != 0:
        return None
    kind = ctypes.c_long.from_buffer(answer).value & 0xFFFFFFFF
    name = NETWORK_FILE_SYSTEMS.get(kind)
    return None if name is None else f"{name}: others may write without this machine being told"
