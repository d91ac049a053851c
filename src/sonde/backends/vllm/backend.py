"""The backend protocol over a vLLM engine.

A row is a request: the prompt with its own patches, one token long, graded by the engine's own
sampler. All rows of a sweep are in flight together, as many as the engine takes; those that are
done come back after every step. Not the packed path: vLLM computes every position from the lowest
patched one on, in all layers, and what is below it comes from its prefix cache.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any
from uuid import uuid4

import numpy as np
from transformers import PreTrainedTokenizerBase

from sonde.backends.base import (
    Cost,
    FromRun,
    GeneratedToken,
    GenerateRequest,
    Patch,
    Row,
    Scores,
    Vector,
)
from sonde.backends.torch.cells import place, plan_cell
from sonde.backends.torch.check import (
    check_apart,
    check_ids,
    check_patches,
    check_rows,
    check_sampling,
    check_sites,
    check_tokens,
)
from sonde.backends.torch.text import TokenVerbs
from sonde.backends.vllm import sampling
from sonde.backends.vllm.answers import check_held, check_vectors, generated, graded
from sonde.backends.vllm.collective import first_found, united_manifests
from sonde.backends.vllm.driver import Driver
from sonde.backends.vllm.facts import Facts
from sonde.backends.vllm.flight import Answer, Asked, Flight, check_outcome
from sonde.backends.vllm.sources import RankedRuns
from sonde.backends.vllm.spec import CaptureSpec, from_bytes
from sonde.errors import BadRequest, CaptureFailed, HookNeverFired, SondeError, UnknownSourceRun
from sonde.prompts import prompt_digest
from sonde.schema import Hook, ModelDescription, Site, SourceRun
from sonde.store.source_runs import Contents

Keys = Callable[[], Mapping[str, str]]
"""Reads, anew each time, under which keys the ranks hold the runs that patches take from."""
FIRST_RATE = 20_000.0
"""Token-layers a second, before anything was measured."""


class VllmBackend(TokenVerbs):
    """A model loaded by vLLM, read from and written to on all of its ranks."""

    def __init__(
        self,
        driver: Driver,
        facts: Facts,
        tokenizer: PreTrainedTokenizerBase,
        *,
        source_budget: int,
    ) -> None:
        """`source_budget` bounds the stored runs, on all ranks together."""
        super().__init__(tokenizer)
        self._driver, self._facts = driver, facts
        self._flight = Flight(driver)
        self._runs = RankedRuns(source_budget, driver)
        self._own = uuid4().hex[:8]  # several backends may share one engine
        self._captures = count(1)
        self._rate = FIRST_RATE

    def describe(self) -> ModelDescription:
        """What is loaded; raises when the engine has stopped."""
        self._driver.check_alive()
        return self._facts.description

    @property
    def facts(self) -> Facts:
        """What is loaded, and over how many ranks."""
        return self._facts

    def close(self) -> None:
        """End the engine and its processes."""
        self._driver.close()

    def capture(
        self,
        run: str,
        tokens: Sequence[int],
        hooks: Sequence[Hook],
        layers: Sequence[int],
        positions: Sequence[int],
    ) -> SourceRun:
        """Run the prompt once and keep its activations under `run`, replacing that run whole."""
        description = self.describe()
        check_tokens(tokens, description)
        check_sites(hooks, layers, positions, description, len(tokens))
        if not (hooks and layers and positions):
            raise BadRequest("nothing to capture: name at least one hook, layer and position")
        self._runs.check(run, self._facts.kept_bytes(hooks, len(layers), len(positions)))
        key = f"{run}@{self._own}-{next(self._captures)}"
        wanted = CaptureSpec(key, tuple(hooks), tuple(layers), tuple(positions))
        held = self._captured(tokens, wanted)
        contents = Contents(
            prompt_digest(tokens), len(tokens), tuple(hooks), tuple(layers), tuple(positions),
            held, description.weights,
        )  # fmt: skip
        return self._runs.put(run, contents, key)

    def _captured(self, tokens: Sequence[int], wanted: CaptureSpec) -> int:
        """Have the ranks keep what is wanted. -> bytes on all of them."""
        sites = len(set(wanted.hooks)) * len(set(wanted.layers)) * len(set(wanted.positions))
        try:
            start = partial(self._flight.start, tokens, sampling.capturing(), capture=wanted)
            for answers in self._flight.each([start], 1):
                outcome = answers[0].outcome
                if outcome is None or outcome.captured != sites:
                    kept = 0 if outcome is None else outcome.captured
                    raise CaptureFailed(f"{kept} of {sites} sites were reached by the taps")
            return int(self.rank_manifests()[wanted.key]["bytes"])
        except SondeError:
            self._driver.tell("drop_patch_source_run", wanted.key)
            raise

    def manifests(self) -> dict[str, SourceRun]:
        """The stored runs, by name; raises when the engine, and they with it, are lost."""
        self._driver.check_alive()
        return self._runs.manifests()

    def rank_manifests(self) -> dict[str, dict[str, Any]]:
        """What the ranks hold together, by key, as they say themselves."""
        return united_manifests(self._driver.call("get_patch_source_manifests"))

    def read(self, run: str, hook: Hook, layer: int, positions: Sequence[int]) -> Vector:
        """Activations of a stored run [positions, width]: to be written at another layer, say."""
        patch = Patch(hook, layer, 0, FromRun(run, tuple(positions)))
        key = self._sources([patch])()[run]
        data = first_found(self._driver.call("sonde_read", key, hook, layer, list(positions)))
        if data is None:
            raise UnknownSourceRun(f"patch source not found: no rank holds run {run!r} any more")
        return from_bytes(data).reshape(len(positions), -1)

    def source_budget(self) -> int:
        """Bytes that all stored runs together may take, on all ranks."""
        return self._runs.budget_bytes

    def lease(self, run: str, holder: str) -> bool:
        """Protect a run from eviction for the store's TTL; False when there is no such run."""
        self._driver.check_alive()
        return self._runs.lease(run, holder)

    def release(self, run: str, holder: str) -> bool:
        """Give that holder's lease back."""
        return self._runs.release(run, holder)

    def drop(self, run: str, generation: int | None = None) -> bool:
        """Forget a run, leased or not; False when there is no such run."""
        return self._runs.drop(run, generation)

    def baselines(
        self, prompts: Sequence[Sequence[int]], token_ids: Sequence[int], hooks: Sequence[Hook]
    ) -> list[list[float]]:
        """Log-probabilities of the ids after each unpatched prompt."""
        description = self.describe()
        check_ids(token_ids, description)
        for tokens in prompts:
            check_tokens(tokens, description)
        params = partial(sampling.scoring, token_ids)
        starts = [
            partial(self._flight.start, tokens, params(), tag=i) for i, tokens in enumerate(prompts)
        ]
        found: dict[int, list[float]] = {}
        for answers in self._flight.each(starts, self._facts.in_flight):
            found |= {a.asked.tag: graded(a.output, token_ids) for a in answers}
        return [found[i] for i in range(len(prompts))]

    def score(
        self, tokens: Sequence[int], rows: Sequence[Row], token_ids: Sequence[int]
    ) -> Iterator[Scores]:
        """Log-probabilities of `token_ids` after the last token, one row per patch set."""
        description = self.describe()
        check_tokens(tokens, description)
        check_ids(token_ids, description)
        check_rows(rows, description, len(tokens))
        patches = [patch for row in rows for patch in row.patches]
        keys = self._sources(patches)
        busy = [i for i, row in enumerate(rows) if self._reaches(row, len(tokens))]
        idle = sorted(set(range(len(rows))) - set(busy))
        if idle:
            baseline = self.baselines([tokens], token_ids, [])[0]
            yield Scores(tuple(idle), np.tile(baseline, (len(idle), 1)), computed=0)
        starts = (self._starting(tokens, rows[i], token_ids, keys, i) for i in busy)
        began = time.perf_counter()
        for answers in self._flight.each(starts, 2 * self._facts.in_flight):
            yield _scores(answers, token_ids)
            began = self._learn_rate([rows[a.asked.tag] for a in answers], len(tokens), began)

    def _starting(
        self, tokens: Sequence[int], row: Row, token_ids: Sequence[int], keys: Keys, tag: int
    ) -> Callable[[], Asked]:
        def start() -> Asked:
            params = sampling.scoring(token_ids)
            return self._flight.start(tokens, params, patches=row.patches, keys=keys(), tag=tag)

        return start

    def _reaches(self, row: Row, n_tokens: int) -> bool:
        """Whether a row has to be run: the last position sees one of its patches."""
        placed = [place(patch, i) for i, patch in enumerate(row.patches)]
        if not placed:
            return row.computed
        return plan_cell(0, placed, self._facts.description.n_layers, n_tokens) is not None

    def cost(self, tokens: Sequence[int], sites: Sequence[Site]) -> Cost:
        """What scoring one patch at each of `sites` would take, without doing it."""
        description, facts = self.describe(), self._facts
        check_tokens(tokens, description)
        layers, n = description.n_layers, len(tokens)
        live = [s for s in sites if plan_cell(0, [place(s, 0)], layers, n) is not None]
        work = sum(layers * facts.computed_tokens(site.position, n) for site in live)
        at_once = min(len(live), facts.in_flight)
        bytes_each = 8 * description.vocabulary + 24 * description.width
        chunks = -(-len(live) // facts.in_flight)
        return Cost(len(live), work, at_once * bytes_each, work / self._rate, chunks)

    def generate(self, request: GenerateRequest) -> Iterator[GeneratedToken]:
        """Tokens as they come; closing the iterator stops. Unreached patches raise at the end."""
        description = self.describe()
        check_sampling(request, description)
        check_tokens(request.tokens, description, room=request.max_tokens)
        n = len(request.tokens)
        check_patches(request.patches, description, n + request.max_tokens - 1)
        check_apart(request.patches)
        keys = self._sources(request.patches)()
        params = sampling.generating(request)
        asked = self._flight.start(
            request.tokens, params, patches=request.patches, keys=keys, plain=not request.patches
        )
        made, cached = 0, 0
        for output in self._flight.tokens(asked):
            cached = max(cached, output.num_cached_tokens or 0)
            part = output.outputs[0]
            for token, found in zip(part.token_ids, part.logprobs or [], strict=True):
                yield generated(token, found, request, n + made)
                made += 1
        if asked.spec is not None:
            check_outcome(asked, self._flight.outcome(asked), cached, n + made - 2)
            _check_reached(request.patches, n, made)

    def _sources(self, patches: Sequence[Patch]) -> Keys:
        """Check that everything patches write is there; reads the keys of their runs."""
        check_vectors(patches, self._facts.description.width)
        sources = [p.source for p in patches if isinstance(p.source, FromRun)]
        meant = {source.run: source.generation for source in sources}
        keys = self._runs.keys(meant, self._facts.description.weights)
        keys()
        check_held(patches, self.manifests())
        return keys

    def _learn_rate(self, rows: Sequence[Row], n_tokens: int, began: float) -> float:
        """Remember how fast this engine is, for the next estimate. -> now."""
        now = time.perf_counter()
        firsts = [min((p.position for p in row.patches), default=0) for row in rows]
        tokens = sum(self._facts.computed_tokens(first, n_tokens) for first in firsts)
        work = tokens * self._facts.description.n_layers
        if work > 1000:
            self._rate = 0.5 * self._rate + 0.5 * work / (now - began)
        return now


def _scores(answers: Sequence[Answer], token_ids: Sequence[int]) -> Scores:
    values = np.array([graded(a.output, token_ids) for a in answers], dtype=np.float64)
    return Scores(tuple(a.asked.tag for a in answers), values, computed=len(answers))


def _check_reached(patches: Sequence[Patch], n_tokens: int, made: int) -> None:
    last = n_tokens + made - 2
    unreached = [patch for patch in patches if patch.position > last]
    if unreached:
        raise HookNeverFired(
            f"generation ended after {made} tokens, before position {unreached[0].position} "
            "was computed; the patch there did nothing"
        )
