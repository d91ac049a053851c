"""Loads further models into a process that has one, a step at a time: for a server's pool.

All of them with the same settings. What two have in common is held once (`loading/sharing`), and a
model's size is known before its weights are read, so that room can be made for it.
"""

import gc
import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import torch

from sonde.backends.base import Backend
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.adapter import MayOpen, find_base, is_adapter
from sonde.backends.torch.loading.load import choose_device, choose_dtype, load_steps
from sonde.backends.torch.loading.locate import locate
from sonde.backends.torch.loading.quiet import quiet
from sonde.backends.torch.loading.sharing import bytes_to_load, held_bytes, share_laid_out

Say = Callable[[str], None]


class TorchLoader:
    """How the models of a pool are loaded. Its methods are for the engine's thread alone."""

    def __init__(
        self, *, dtype: str | None = None, device: str | None = None, **options: Any
    ) -> None:
        """`options` are those of `TorchBackend`: its budgets, and how a GPU computes."""
        self._placed = {"dtype": dtype, "device": device}
        self._options = options

    def locate(self, source: str, say: Say) -> Path:
        """The directory of a model; what has to be converted first is converted."""
        with quiet():
            return locate(source, say).directory

    def size(self, directory: Path, say: Say, may_open: MayOpen) -> int:
        """Bytes that it will take, as far as nothing can be shared. Reads no weight."""
        device = choose_device(self._placed["device"])
        dtype = choose_dtype(self._placed["dtype"], device)
        base = find_base(directory, say, may_open) if is_adapter(directory) else directory
        return bytes_to_load(base, dtype, device)

    def load(
        self,
        name: str,
        directory: Path,
        say: Say,
        may_open: MayOpen,
        beside: Sequence[Backend],
    ) -> Generator[None, None, Backend]:
        """Load it, with the weights that it has in common with the models `beside` it."""
        others = [each.model for each in beside if isinstance(each, TorchBackend)]
        loaded = yield from load_steps(
            name, directory=directory, say=say, may_open=may_open, beside=others, **self._placed
        )
        yield
        say(f"trying how {name} is best computed")
        backend = TorchBackend(loaded, **self._options)
        share_laid_out(backend.model, others)
        return backend

    def held(self, backends: Sequence[Backend]) -> int:
        """Bytes that the weights of some models take together."""
        return held_bytes(each.model for each in backends if isinstance(each, TorchBackend))

    def rest(self, backend: Backend) -> None:
        """Nobody uses it for now: what it keeps for the next call is not worth its memory."""
        if isinstance(backend, TorchBackend):
            backend.forget()

    def free(self) -> None:
        """A model was let go of: its layers refer to themselves, so it takes a collection."""
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def half_of_memory(device: str) -> int:
    """Half of what a device has in all, or the machine."""
    if device.startswith("cuda"):
        return int(torch.cuda.get_device_properties(device).total_memory // 2)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
