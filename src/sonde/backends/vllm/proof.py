"""What a freshly loaded engine must show before it may serve.

vLLM can fail to patch without a word: under compiled graphs taps are never called, and the prefix
cache hands out positions as if they were unpatched, or patched. So, on made-up prompts:

1. **Fire**    A patch at every hook changes the answer. (That each is written is checked always.)
2. **Keep**    A run patched with its own activations, at every hook, does not change.
3. **Restore** One prompt with the other's whole stream gives the other's answer.
4. **Reuse**   After an unpatched twin has filled the cache, a patched run gives the same again.
5. **Leak**    After that patched run, the unpatched twin gives what it gave before.

Any failure is an error, and nothing is served.
"""

from collections.abc import Sequence

import numpy as np

from sonde.backends.base import FromRun, FromVector, Patch, Row
from sonde.backends.vllm.backend import VllmBackend
from sonde.errors import EngineError, SondeError
from sonde.schema import Hook

TOLERANCE = {"float32": 1e-3, "float16": 0.05, "bfloat16": 0.25}
"""In log-probability, between batches of different shapes."""
RUNS = ("proof-a", "proof-b")


def prove(backend: VllmBackend) -> None:
    """Raise unless this engine patches as it should."""
    try:
        _Proof(backend).all()
    except SondeError as error:
        raise EngineError(
            f"the vLLM engine failed its start-up test and must not be used: {error}"
        ) from error
    finally:
        for run in RUNS:
            backend.drop(run)


class _Proof:
    """Two made-up prompts of one length, longer than a cache block where the model allows."""

    def __init__(self, backend: VllmBackend) -> None:
        self.backend, self.model = backend, backend.describe()
        block = backend.facts.block or 16
        length = max(2, min(2 * block + 5, self.model.max_tokens - 1))
        draw = np.random.default_rng(0)
        drawn = draw.integers(0, self.model.vocabulary, size=(2, length)).tolist()
        self.first, self.second = drawn[0], drawn[1]
        self.ids = sorted({0, self.model.vocabulary // 2, self.model.vocabulary - 1})
        self.middle = self.model.n_layers // 2
        self.tolerance = TOLERANCE.get(self.model.dtype, 0.25)
        self.noise = draw.normal(size=self.model.width).astype(np.float32)

    def all(self) -> None:
        """The five steps."""
        for run, tokens in zip(RUNS, (self.first, self.second), strict=True):
            layers = [self.middle]
            self.backend.capture(run, tokens, self.model.hooks, layers, range(len(tokens)))
        plain = self.answers(self.first, [Row(computed=True)])[0]
        other = self.answers(self.second, [Row(computed=True)])[0]
        self.fire(plain)
        self.keep(plain)
        self.restore(other)
        self.share(plain)

    def fire(self, plain: np.ndarray) -> None:
        """A patch at every hook changes the answer."""
        last = len(self.first) - 1
        rows = [Row((self.noisy(hook, last),)) for hook in self.model.hooks]
        for hook, found in zip(self.model.hooks, self.answers(self.first, rows), strict=True):
            if not np.abs(found - plain).max() > 0:
                raise EngineError(f"a random vector written at {hook} changed nothing")

    def keep(self, plain: np.ndarray) -> None:
        """A run patched with its own activations does not change."""
        rows = [Row(self.whole(hook, RUNS[0])) for hook in self.model.hooks]
        for hook, found in zip(self.model.hooks, self.answers(self.first, rows), strict=True):
            self.same(found, plain, f"a run patched with itself at {hook}")

    def restore(self, other: np.ndarray) -> None:
        """The whole stream of the other prompt is the other prompt."""
        found = self.answers(self.first, [Row(self.whole("post_block", RUNS[1]))])
        self.same(found[0], other, "one prompt with the whole stream of another")

    def share(self, plain: np.ndarray) -> None:
        """The cache is shared below the patch, and neither run sees the other's part of it."""
        row = [Row((self.noisy("post_block", len(self.first) - 2),))]
        cold = self.answers(self.first, row)[0]
        self.same(self.answers(self.first, [Row(computed=True)])[0], plain, "an unpatched run")
        warm = self.answers(self.first, row)[0]
        self.same(warm, cold, "a patched run after its unpatched twin")
        after = self.answers(self.first, [Row(computed=True)])[0]
        self.same(after, plain, "an unpatched run after its patched twin")

    def whole(self, hook: Hook, run: str) -> tuple[Patch, ...]:
        """The middle layer at every position."""
        return tuple(
            Patch(hook, self.middle, p, FromRun(run, (p,))) for p in range(len(self.first))
        )

    def noisy(self, hook: Hook, position: int) -> Patch:
        """A random vector at one position of the middle layer."""
        return Patch(hook, self.middle, position, FromVector(self.noise))

    def answers(self, tokens: Sequence[int], rows: Sequence[Row]) -> np.ndarray:
        """[rows, ids], all of them numbers."""
        out = np.zeros((len(rows), len(self.ids)))
        for part in self.backend.score(tokens, rows, self.ids):
            out[list(part.rows)] = part.logprobs
        if not np.isfinite(out).all():
            raise EngineError("log-probabilities that are not finite: vLLM cannot run this model")
        return out

    def same(self, found: np.ndarray, expected: np.ndarray, what: str) -> None:
        """The two differ by rounding at most."""
        difference = float(np.abs(found - expected).max())
        if not difference <= self.tolerance:
            raise EngineError(
                f"{what} differs from what it must be by {difference:.3g} in log-probability "
                f"(allowed: {self.tolerance:g})"
            )
