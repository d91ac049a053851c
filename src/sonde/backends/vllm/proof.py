"""What a freshly loaded engine must show before it may serve.

vLLM can fail to patch without a word: under compiled graphs taps are never called, and the prefix
cache hands out positions as if they were unpatched, or patched. So, on made-up prompts:

1. **Fire**    A random vector at every hook, set or added, changes the answer; at the first and
               the last head, where there are heads, and there at all positions, since a key alone
               may have no weight. (That each is written is checked always.)
2. **Keep**    A run with its own activations, or with nothing added, at every hook stays as it is.
3. **Restore** One prompt with the other's whole stream gives the other's answer; with all of the
               other's queries, keys and values, or with all of its heads, what it gives with the
               other's attention branch.
4. **Reuse**   After an unpatched twin has filled the cache, a patched run gives the same again.
5. **Leak**    After that patched run, the unpatched twin gives what it gave before.

Any failure is an error, and nothing is served.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sonde.backends.base import (
    FromRun,
    FromVector,
    Row,
    Site,
    Source,
    Work,
    Write,
    logprobs_of,
)
from sonde.backends.vllm.backend import VllmBackend
from sonde.errors import EngineError, SondeError
from sonde.schema import HOOK_TABLE, Hook

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
        self.draw = draw

    def all(self) -> None:
        """All five steps."""
        for run, tokens in zip(RUNS, (self.first, self.second), strict=True):
            layers = [self.middle]
            self.backend.capture(run, tokens, self.model.hooks, layers, range(len(tokens)))
        plain = self.answers(self.first, [Row(computed=True)])[0]
        other = self.answers(self.second, [Row(computed=True)])[0]
        self.fire(plain)
        self.keep(plain)
        self.restore(other)
        self.restore_heads()
        self.share(plain)

    def fire(self, plain: np.ndarray) -> None:
        """A write at every hook changes the answer, set or added."""
        last = len(self.first) - 1
        written = [
            [self.noisy(site if site.head is not None else replace(site, positions=(last,)))]
            for hook in self.model.hooks
            for site in dict.fromkeys((self.everywhere(hook)[0], self.everywhere(hook)[-1]))
        ]
        added = [[replace(write, how="add") for write in writes] for writes in written]
        for verb, rows in (("written", written), ("added", added)):
            for hook, found in self.each(rows):
                if not np.abs(found - plain).max() > 0:
                    raise EngineError(f"a random vector {verb} at {hook} changed nothing")

    def keep(self, plain: np.ndarray) -> None:
        """A run with its own activations does not change, nor one with nothing added."""
        sites = [self.everywhere(hook) for hook in self.model.hooks]
        own = [[Write(site, self.whole(RUNS[0])) for site in some] for some in sites]
        idle = [[Write(s, self.vector(s.hook, 0.0), how="add") for s in some] for some in sites]
        for what, rows in (("patched with itself", own), ("with zeros added", idle)):
            for hook, found in self.each(rows):
                self.same(found, plain, f"a run {what} at {hook}")

    def restore(self, other: np.ndarray) -> None:
        """The whole stream of the other prompt is the other prompt."""
        [found] = self.answers(self.first, [self.restored("post_block")])
        self.same(found, other, "one prompt with the whole stream of another")

    def restore_heads(self) -> None:
        """What attention is called with, and what it returns, are all there is to its branch."""
        if self.model.heads is None or "attn_out" not in self.model.hooks:
            return
        rows = [self.restored("attn_out"), self.restored("z"), self.restored("q", "k", "v")]
        branch, heads, inputs = self.answers(self.first, rows)
        self.same(heads, branch, "one prompt with all heads of another")
        self.same(inputs, branch, "one prompt with all queries, keys and values of another")

    def share(self, plain: np.ndarray) -> None:
        """The cache is shared below the patch, and neither run sees the other's part of it."""
        site = Site("post_block", self.middle, (len(self.first) - 2,))
        row = [Row((self.noisy(site),))]
        cold = self.answers(self.first, row)[0]
        self.same(self.answers(self.first, [Row(computed=True)])[0], plain, "an unpatched run")
        warm = self.answers(self.first, row)[0]
        self.same(warm, cold, "a patched run after its unpatched twin")
        after = self.answers(self.first, [Row(computed=True)])[0]
        self.same(after, plain, "an unpatched run after its patched twin")

    def heads(self, hook: Hook) -> Sequence[int | None]:
        """The heads of a hook; one that is None where it has none."""
        if HOOK_TABLE[hook].per == "model":
            return [None]
        assert self.model.heads is not None, "only models with heads have hooks of heads"
        return range(self.model.heads.count(hook))

    def everywhere(self, hook: Hook) -> list[Site]:
        """The middle layer at every position, every head of it."""
        everything = tuple(range(len(self.first)))
        return [Site(hook, self.middle, everything, head) for head in self.heads(hook)]

    def restored(self, *hooks: Hook) -> Row:
        """The first prompt with all that the second has at some hooks."""
        sites = [site for hook in hooks for site in self.everywhere(hook)]
        return Row(tuple(Write(site, self.whole(RUNS[1])) for site in sites))

    def vector(self, hook: Hook, scale: float) -> Source:
        """A random vector, as wide as values of the hook."""
        width = self.backend.facts.shard().value_width(hook)
        return FromVector(scale * self.draw.normal(size=width).astype(np.float32))

    def whole(self, run: str) -> Source:
        """What a run has there."""
        return FromRun(run, tuple(range(len(self.first))))

    def noisy(self, site: Site) -> Write:
        """A random vector at a site."""
        return Write(site, self.vector(site.hook, 1.0))

    def each(self, rows: Sequence[Sequence[Write]]) -> Iterator[tuple[Hook, np.ndarray]]:
        """The first prompt with the writes of one row at a time: their hook and the answers."""
        found = self.answers(self.first, [Row(tuple(writes)) for writes in rows])
        return zip((writes[0].site.hook for writes in rows), found, strict=True)

    def answers(self, tokens: Sequence[int], rows: Sequence[Row]) -> np.ndarray:
        """[rows, ids], all of them numbers."""
        out = np.zeros((len(rows), len(self.ids)))
        for part in self.backend.score([Work(tokens, rows, logprobs_of(self.ids))]):
            out[list(part.rows)] = part.values
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
