"""The backend protocol over a vLLM engine.

A row is a request: the prompt with its own writes, one token long, read by the engine's own
sampler. All rows of a sweep are in flight together, those of several prompts too, as many as the
engine takes; those that are done come back after every step. Not the packed path: vLLM computes
every position from the lowest written one on, in all layers, and what is below it comes from its
prefix cache.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from typing import Any
from uuid import uuid4

import numpy as np
from transformers import PreTrainedTokenizerBase

from sonde.backends.base import (
    Cost,
    GeneratedToken,
    GenerateRequest,
    Mixture,
    Quantity,
    Readout,
    Scores,
    Site,
    Slope,
    Vector,
    Work,
    Write,
)
from sonde.backends.check import (
    check_apart,
    check_completion_writes,
    check_sampling,
    check_side_by_side,
    check_sites,
    check_tokens,
    check_work,
    check_writes,
)
from sonde.backends.check_heads import check_head
from sonde.backends.edit import Edit, Sampled
from sonde.backends.spots import runs_in, spots
from sonde.backends.torch.text import TokenVerbs
from sonde.backends.vllm import sampling
from sonde.backends.vllm.answers import (
    check_held,
    check_taken,
    check_values,
    generated,
    scored_prompt,
)
from sonde.backends.vllm.collective import first_found, united_manifests
from sonde.backends.vllm.driver import Driver
from sonde.backends.vllm.facts import Facts
from sonde.backends.vllm.flight import Answer, Flight, RequestInFlight, check_outcome
from sonde.backends.vllm.readouts import TOLD, asking, check_told, reads_prompt, told
from sonde.backends.vllm.scoring import Ticket, scores_of, tickets, unpatched
from sonde.backends.vllm.sources import RankedRuns
from sonde.backends.vllm.spec import CaptureSpec, Stored, from_bytes
from sonde.backends.vllm.supply import Supply
from sonde.errors import BadRequest, CaptureFailed, HookNeverFired, SondeError, SourceRunDropped
from sonde.prompts import prompt_digest
from sonde.schema import HOOK_TABLE, Hook, ModelDescription, SourceRun
from sonde.store.source_runs import Contents

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

    def quantities(self) -> Sequence[Quantity]:
        """What it can tell of a row."""
        return TOLD

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

    def read(self, run: str, sites: Sequence[Site]) -> list[Vector]:
        """Activations of a stored run, one array [positions, width] a site, in float32."""
        description = self.describe()
        [key] = self._runs.keys({run: None}, description.weights)().values()
        check_held(sites, self.manifests()[run])
        wanted = [
            Stored(key, site.hook, site.layer, site.positions, head)
            for site in sites
            for head in self._heads_of(site)
        ]
        parts = iter(self._fetch(wanted))
        out = []
        for site in sites:
            heads = list(islice(parts, len(self._heads_of(site))))
            out.append(_end_to_end(run, heads, len(site.positions)))
        return out

    def _heads_of(self, site: Site) -> Sequence[int | None]:
        """The heads that are read at a site: all of them, where none is named."""
        model = self._facts.description
        if HOOK_TABLE[site.hook].per == "model" or site.head is not None:
            check_head(site.hook, site.head, model)
            return [site.head]
        assert model.heads is not None, "only models with heads have hooks of heads"
        return range(model.heads.count(site.hook))

    def _fetch(self, values: Sequence[Stored]) -> list[bytes | None]:
        """What the ranks hold of one run at some sites, whichever of them does."""
        if not values:
            return []
        sites = [(v.hook, v.layer, list(v.positions), v.head) for v in values]
        return first_found(self._driver.call("sonde_read", values[0].key, sites))

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
        self, asked: Sequence[tuple[Sequence[int], Readout]], hooks: Sequence[Hook]
    ) -> list[list[float]]:
        """The readout of each unpatched prompt."""
        some = [Work(tokens, (), readout) for tokens, readout in asked]
        for work in some:
            self._check(work)
        nothing = self._supply(())
        starts = [
            partial(self._start, unpatched(i, work, (0,)), nothing) for i, work in enumerate(some)
        ]
        found: dict[int, list[float]] = {}
        for answers in self._flight.each(starts, self._facts.in_flight):
            found |= {a.asked.tag.number: told(a.output, a.asked.tag.work) for a in answers}
        return [found[i] for i in range(len(some))]

    def score(self, work: Iterable[Work]) -> Iterator[Scores]:
        """The readout of every row of every prompt; all are in flight together."""
        self.describe()
        began = time.perf_counter()
        for answers in self._flight.each(self._starts(work), 2 * self._facts.in_flight):
            yield from scores_of([(answer.asked.tag, answer.output) for answer in answers])
            began = self._learn_rate(answers, began)

    def _starts(self, work: Iterable[Work]) -> Iterator[Callable[[], RequestInFlight]]:
        """What starts each request; a prompt is checked when its turn comes."""
        for number, each in enumerate(work):
            self._check(each)
            supply = self._supply([write for row in each.rows for write in row.writes])
            for ticket in tickets(number, each, self._facts.description.n_layers):
                yield partial(self._start, ticket, supply)

    def _start(self, ticket: Ticket, supply: Supply) -> RequestInFlight:
        work = ticket.work
        return self._flight.start(
            work.tokens,
            asking(work),
            writes=supply.specs(ticket.row.writes),
            runs=supply.runs,
            tag=ticket,
        )

    def _check(self, work: Work) -> None:
        check_work(work, self.describe())
        check_told(work)

    def linearise(self, asked: Iterable[Slope]) -> Iterator[Scores]:
        """Refused: an engine that only serves keeps no graph to go back through."""
        raise BadRequest(
            "backend 'vllm' has no gradients, so it attributes nothing: sweep exactly, or load the "
            "model with backend='torch'"
        )

    def mix(self, asked: Iterable[Mixture]) -> Iterator[Scores]:
        """Refused: vLLM gives all heads of a layer one stream."""
        raise BadRequest(
            "backend 'vllm' cannot run circuits, where every head reads a stream of its own: load "
            "the model with backend='torch'"
        )

    def cost(self, work: Iterable[Work]) -> Cost:
        """What scoring would take, without doing it. Sources are not looked at."""
        description, facts = self.describe(), self._facts
        rows = positions = most = 0
        for number, each in enumerate(work):
            self._check(each)
            live = [t for t in tickets(number, each, description.n_layers) if t.computed]
            rows += len(live)
            positions += sum(map(self._positions, live))
            distributions = len(each.tokens) if reads_prompt(each) else 1
            most = max(most, 8 * description.vocabulary * distributions + 24 * description.width)
        needed = positions * description.n_layers
        at_once = min(rows, facts.in_flight)
        chunks = -(-rows // facts.in_flight)
        return Cost(rows, needed, at_once * most, needed / self._rate, chunks)

    def _positions(self, ticket: Ticket) -> int:
        """Positions that a request computes."""
        return self._facts.computed_tokens(ticket.first(), len(ticket.work.tokens))

    def generate(self, request: GenerateRequest) -> Iterator[GeneratedToken]:
        """Tokens as they come; closing the iterator stops. Unreached writes raise at the end."""
        description = self.describe()
        check_sampling(request, description)
        check_tokens(request.tokens, description, room=request.max_tokens)
        n = len(request.tokens)
        check_writes(request.writes, description, n + request.max_tokens - 1)
        check_completion_writes(request.writes)
        check_apart(request.writes)
        supply = self._supply(request.writes)
        params = sampling.generating(request)
        asked = self._flight.start(
            request.tokens,
            params,
            writes=supply.specs(request.writes),
            runs=supply.runs,
            plain=not request.writes,
        )
        made, cached = 0, 0
        for output in self._flight.tokens(asked):
            cached = max(cached, output.num_cached_tokens or 0)
            part = output.outputs[0]
            for token, found in zip(part.token_ids, part.logprobs or [], strict=True):
                prompt = () if made else scored_prompt(output.prompt_logprobs, request)
                yield generated(token, found, request, n + made, prompt)
                made += 1
        if asked.spec is not None:
            check_outcome(asked, self._flight.outcome(asked), cached, n + made - 2)
            _check_reached(request.writes, n, made)

    def sample(
        self, asked: Sequence[GenerateRequest], edit: Edit | None = None
    ) -> Iterator[list[Sampled]]:
        """Completions one after the other; activations cannot be changed by what they are."""
        if edit is not None:
            raise BadRequest(
                "backend 'vllm' changes activations to what is known beforehand, not by what they "
                "turn out to be: sample with a feature changed on backend='torch'"
            )
        check_side_by_side(asked, edit, self.describe())
        for number, request in enumerate(asked):
            yield [Sampled(number, tuple(made.token for made in self.generate(request)))]

    def _supply(self, writes: Sequence[Write]) -> Supply:
        """Check that everything writes take is there; makes it ready for the ranks."""
        facts = self._facts
        check_values(writes, facts.description)
        keys = self._runs.keys(runs_in(writes), facts.description.weights)
        supply = Supply(keys, facts.beside, self._fetch)
        if supply.runs:
            check_taken(writes, self.manifests())
        return supply

    def _learn_rate(self, answers: Sequence[Answer], began: float) -> float:
        """Remember how fast this engine is, for the next estimate. -> now."""
        now = time.perf_counter()
        positions = sum(self._positions(answer.asked.tag) for answer in answers)
        work = positions * self._facts.description.n_layers
        if work > 1000:
            self._rate = 0.5 * self._rate + 0.5 * work / (now - began)
        return now


def _end_to_end(run: str, heads: Sequence[bytes | None], n: int) -> Vector:
    """[n, width]: the rows of some heads of a run, those of a position one after the other."""
    found = [from_bytes(data).reshape(n, -1) for data in heads if data is not None]
    if len(found) < len(heads):
        raise SourceRunDropped(run)
    return np.concatenate(found, axis=1)


def _check_reached(writes: Sequence[Write], n_tokens: int, made: int) -> None:
    last = n_tokens + made - 2
    unreached = [spot.position for spot in spots(writes) if spot.position > last]
    if unreached:
        raise HookNeverFired(
            f"generation ended after {made} tokens, before position {unreached[0]} "
            "was computed; the patch there did nothing"
        )
