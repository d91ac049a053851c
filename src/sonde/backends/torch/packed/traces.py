"""Unpatched runs, kept for the next call.

A sweep asks for the clean and the corrupt prompt's run several times (their baselines, a capture,
the cells), and a sweep over many pairs for those of many prompts, so the last ones are kept: two in
any case, more while they are small.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from sonde.backends.base import Readout
from sonde.backends.torch.packed.trace import Trace
from sonde.backends.torch.packed.windows import side_by_side
from sonde.backends.torch.path import Path
from sonde.schema import INSIDE, Hook

KEPT: Final = 2
"""However large: a sweep needs the clean and the corrupt prompt's."""
MOST: Final = 256

Tokens = tuple[int, ...]


class Traces:
    """Unpatched runs by their tokens, the most recently used last."""

    def __init__(self, most_bytes: int) -> None:
        """Beyond the last two, they take at most so many bytes."""
        self._most_bytes = most_bytes
        self._held: dict[Tokens, Trace] = {}
        self.told: dict[tuple[Tokens, Readout], list[float]] = {}
        """Unpatched prompt and readout -> what it tells, for the prompts that are held."""

    def prepare(self, path: Path, prompts: Sequence[Sequence[int]], hooks: Sequence[Hook]) -> None:
        """Run those that are missing, side by side, and forget the oldest."""
        wanted = {tuple(tokens): self._held.pop(tuple(tokens), None) for tokens in prompts}
        self._held.update({tokens: trace for tokens, trace in wanted.items() if trace})
        missing = [t for t, trace in wanted.items() if trace is None or not _has(trace, hooks)]
        for some in side_by_side(missing, path.on_cpu):
            self._held.update(zip(some, path.record(some, hooks), strict=True))
        self._forget_old(wanted)

    def __getitem__(self, tokens: Tokens) -> Trace:
        """The run of a prompt that was prepared."""
        return self._held[tokens]

    def __len__(self) -> int:
        """How many are held."""
        return len(self._held)

    def nbytes(self) -> int:
        """Bytes of all of them."""
        return sum(trace.nbytes for trace in self._held.values())

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()
        self.told.clear()

    def _forget_old(self, wanted: Collection[Tokens]) -> None:
        room = self._most_bytes
        for number, tokens in enumerate(reversed(list(self._held))):
            room -= self._held[tokens].nbytes
            small = room >= 0 and number < MOST
            if tokens not in wanted and number >= KEPT and not small:
                del self._held[tokens]
        for key in [key for key in self.told if key[0] not in self._held]:
            del self.told[key]


def _has(trace: Trace, hooks: Iterable[Hook]) -> bool:
    return all(hook in trace.inside for hook in hooks if hook in INSIDE)
