"""How much memory a chunk takes: measured on this model, not guessed.

Peak memory of a chunk is linear in its rows and in its cells. Three small runs give the three
coefficients, for one prompt length, once. The same measurement checks the promise in the tests.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from sonde.errors import RequestTooLarge

DEFAULT_BYTES: Final = {"cpu": 2 * 2**30, "cuda": 16 * 2**30}


class PeakBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of tensors that come to life inside it, and remembers the most at once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = 0
        self._live: dict[int, tuple[Any, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {_key(t) for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, Tensor) and _key(tensor) not in given:
                storage = tensor.untyped_storage()
                reference: Any = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
                self._live[_key(tensor)] = (reference, storage.nbytes())
        self._live = {k: held for k, held in self._live.items() if not held[0].expired()}
        self.peak = max(self.peak, sum(size for _, size in self._live.values()))
        return out


def _key(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def peak_bytes(run: Callable[[], object], device: torch.device) -> int:
    """The most memory `run` has in tensors of its own at any time."""
    if device.type == "cuda":
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        torch.cuda.synchronize()
        return int(torch.cuda.max_memory_allocated() - before)
    with PeakBytes() as counter:
        run()
    return int(counter.peak)


@dataclass(frozen=True)
class ChunkBytes:
    """Peak memory of a chunk: `fixed + per_row · rows + per_cell · cells`."""

    fixed: float
    per_row: float
    per_cell: float

    def of(self, cells: int, rows: int) -> int:
        """Bytes of a chunk."""
        return round(self.fixed + self.per_cell * cells + self.per_row * rows)


def measure(run: Callable[[int, int], int], n_tokens: int) -> ChunkBytes:
    """Fit the coefficients. `run(cells, first)` runs so many suffixes and tells their peak."""
    few, many = run(16, 0), run(48, 0)
    short = run(48, n_tokens - 1)
    per_row = (many - short) / (48 * (n_tokens - 1)) if n_tokens > 1 else 0.0
    per_cell = (many - few) / 32 - per_row * n_tokens
    fixed = few - 16 * (per_cell + per_row * n_tokens)
    return ChunkBytes(max(fixed, 0.0), max(per_row, 0.0), max(per_cell, 0.0))


def rough_row_bytes(layer: nn.Module) -> int:
    """More than a row needs in any layer of this kind: every weight's output at once, thrice."""
    widths = sum(max(p.shape) for p in layer.parameters() if p.ndim >= 2)
    size = next(p.element_size() for p in layer.parameters())
    return 3 * size * widths


def largest_chunk(
    chunk: ChunkBytes, budget: int, held: int, most: int, longest: int
) -> Callable[[int, int], bool]:
    """Whether so many cells and rows may run together: within the budget, and no more than useful.

    `held` bytes are taken by the unpatched runs; `most` rows are useful; `longest` is one cell's.
    """
    needed = held + chunk.of(1, longest)
    if needed > budget:
        raise RequestTooLarge(
            "one cell of this sweep", needed, budget, "raise memory_budget or shorten the prompt"
        )
    return lambda cells, rows: rows <= most and held + chunk.of(cells, rows) <= budget
