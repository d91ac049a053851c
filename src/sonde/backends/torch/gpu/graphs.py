"""Work of one shape, launched as a whole: CUDA graphs.

A short forward pass on a GPU is over before the next kernel can be launched. The second time that
work of one shape comes, its launches are captured; from then on one call repeats them all.

A graph reads and writes where it did at first, so what it is given is copied in and what it made is
copied out. It is kept only if it makes the very bits that were made launch by launch. Work that
cannot be captured, because it looks at numbers on its way, is done as before.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

import torch
from torch import Tensor

from sonde.backends.torch.nested import TensorKey, tensors_in, with_tensors

MOST_GRAPHS: Final = 16
MOST_SEEN: Final = 256

Inputs = TypeVar("Inputs")
Result = TypeVar("Result")


class Launch(Protocol):
    """How work is done on a nest of tensors; `shape` is all else that its launches depend on."""

    def __call__(
        self, shape: Hashable, given: Inputs, compute: Callable[[Inputs], Result]
    ) -> Result:
        """What `compute` makes of `given`."""
        ...


def launch_now(shape: Hashable, given: Inputs, compute: Callable[[Inputs], Result]) -> Result:
    """Launch by launch."""
    del shape
    return compute(given)


@dataclass(frozen=True)
class _Captured:
    graph: torch.cuda.CUDAGraph
    compute: Callable[[Any], Any]
    """Kept because the graph reads what it refers to."""
    inputs: list[Tensor]
    made: Any
    outputs: dict[TensorKey, Tensor]
    nbytes: int


class Graphs:
    """Captured work by shape, the least recently used forgotten first."""

    def __init__(self, most_bytes: int) -> None:
        """All graphs together hold at most so many bytes."""
        self._most_bytes = most_bytes
        self._captured: OrderedDict[Hashable, _Captured] = OrderedDict()
        self._seen: OrderedDict[int, None] = OrderedDict()
        """Hashes of shapes that came once, …"""
        self._too_large: set[int] = set()
        """… and of those whose graph would take all the memory there is for graphs, or more."""
        self.refused: str | None = None
        """Why nothing more is captured, if nothing is."""

    def nbytes(self) -> int:
        """Bytes the graphs hold."""
        return sum(found.nbytes for found in self._captured.values())

    def run(self, shape: Hashable, given: Inputs, compute: Callable[[Inputs], Result]) -> Result:
        """A `Launch`."""
        inputs = list(tensors_in(given).values())
        key = (shape, tuple((tensor.shape, tensor.dtype) for tensor in inputs))
        found = self._captured.get(key)
        if found is not None:
            self._captured.move_to_end(key)
            made: Result = _replay(found, inputs)
            return made
        made = compute(given)
        if self.refused is None and self._came_before(hash(key)):
            self._keep(key, inputs, given, compute, made)
        return made

    def _came_before(self, shape: int) -> bool:
        if shape in self._too_large:
            return False
        if shape in self._seen:
            del self._seen[shape]
            return True
        self._seen[shape] = None
        if len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)
        return False

    def _keep(
        self,
        key: Hashable,
        inputs: list[Tensor],
        given: Inputs,
        compute: Callable[[Inputs], Result],
        expected: Result,
    ) -> None:
        try:
            found = _captured(given, compute)
        except RuntimeError as error:  # how torch reports what CUDA cannot capture
            self.refused = str(error)
            return
        if not _same(_replay(found, inputs), expected):
            self.refused = "a captured run had other bits"
            return
        if found.nbytes > self._most_bytes:
            self._too_large.add(hash(key))
            return
        self._captured[key] = found
        while len(self._captured) > MOST_GRAPHS or self.nbytes() > self._most_bytes:
            self._captured.popitem(last=False)


def _captured(given: Inputs, compute: Callable[[Inputs], Result]) -> _Captured:
    own = {place: tensor.clone() for place, tensor in tensors_in(given).items()}
    nest = with_tensors(given, own)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        before = torch.cuda.memory_reserved()
        made = compute(nest)
        taken = torch.cuda.memory_reserved() - before
    inputs, outputs = list(own.values()), tensors_in(made)
    seen = sum(tensor.nbytes for tensor in [*inputs, *outputs.values()])
    return _Captured(graph, compute, inputs, made, outputs, max(taken, seen))


def _replay(found: _Captured, inputs: list[Tensor]) -> Any:
    """Launch it on these tensors, and copy what it made."""
    torch._foreach_copy_(found.inputs, inputs)
    found.graph.replay()
    copies = {place: torch.empty_like(tensor) for place, tensor in found.outputs.items()}
    torch._foreach_copy_(list(copies.values()), list(found.outputs.values()))
    return with_tensors(found.made, copies)


def _same(one: object, other: object) -> bool:
    """Whether two nests have the same bits."""
    mine, theirs = tensors_in(one).values(), tensors_in(other).values()
    return len(mine) == len(theirs) and all(map(torch.equal, mine, theirs))
