"""A backend without a model: log-probabilities are a known function of the tokens and the patches.

Words are tokens, a leading blank included, and a word's id is its place in `WORDS`. A patch adds
`alpha * weight * (source - what is there)` to each graded log-probability, where an activation is
its token's id and the weight depends on the site alone. So every number can be worked out by hand,
and a patch of a prompt with itself adds exactly nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sonde.backends.base import (
    Cost,
    FromRun,
    GenerateRequest,
    Mixture,
    Quantity,
    Readout,
    Row,
    Scores,
    Site,
    Slope,
    Vector,
    Work,
)
from sonde.backends.edit import Edit, Sampled
from sonde.backends.generated import GeneratedToken, PromptToken
from sonde.backends.spots import Spot, spots, terms
from sonde.errors import BadRequest, SourceRunDropped, UnknownSourceRun
from sonde.prompts import prompt_digest
from sonde.schema import (
    CLASSIC_HOOKS,
    Hook,
    ModelDescription,
    SourceRun,
    SpecialToken,
    SpecialTokens,
)

WORDS = ["<s>", "The", " Eiffel", " Tower", " is", " in", " the", " city", " of", " Paris", " Rome"]
WORDS += [" Colosseum", " Great", " Wall", " big", " red", " x"]
LAYERS, WIDTH, LONGEST = 4, 8, 12
Key = tuple[Hook, int, int]


def ids_of(readout: Readout) -> list[int]:
    """The tokens whose log-probabilities a readout tells."""
    return [column.token for column in readout.columns if column.token is not None]


def weight(hook: Hook, layer: int, position: int) -> float:
    """What a unit of difference at a site adds."""
    return (1 + CLASSIC_HOOKS.index(hook)) * (layer + 1) / 100 + position / 1000


@dataclass
class Scripted:
    """The backend; its fields are what tests turn."""

    chunk: int = 5
    exact: bool = True
    hooks: tuple[Hook, ...] = CLASSIC_HOOKS
    noise: float = 0.0
    """Added to unpatched rows that are computed."""
    drift: float = 0.0
    """Added to patched rows that are computed: the controls."""
    forced: dict[Key, list[float]] = field(default_factory=dict)
    """What cells give instead."""
    failing: dict[str, Exception] = field(default_factory=dict)
    """Method -> what it raises."""
    before_chunk: Callable[[int], None] = lambda _index: None
    weights: str = "w1"
    runs: dict[str, tuple[SourceRun, list[int]]] = field(default_factory=dict)
    leases: set[tuple[str, str]] = field(default_factory=set)
    log: list[str] = field(default_factory=list)
    scored: list[Row] = field(default_factory=list)
    generation: int = 0

    def _note(self, method: str) -> None:
        self.log.append(method)
        if method in self.failing:
            raise self.failing[method]

    def describe(self) -> ModelDescription:
        return ModelDescription(
            name="scripted", architecture="None", backend="torch", n_layers=LAYERS, width=WIDTH,
            vocabulary=len(WORDS), max_tokens=LONGEST, hooks=list(self.hooks), end_ids=[0],
            special_tokens=SpecialTokens(before=[SpecialToken(id=0, text=WORDS[0])], after=[]),
            dtype="float32", device="cpu", weights=self.weights, path="packed", path_reason=None,
            exact=self.exact,
        )  # fmt: skip

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        words = re.findall(r" ?[^ ]+", text)
        return [0] * special * bool(words) + [WORDS.index(word) for word in words]

    def detokenize(self, tokens: Sequence[int]) -> str:
        return "".join(WORDS[token] for token in tokens if token)

    def render_chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        generation_prompt: bool = True,
        continue_final: bool = False,
    ) -> list[int]:
        said = [word for m in messages for word in self.tokenize(m["content"], special=False)]
        return [0, *said, *[0] * generation_prompt]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [(0, 0)] + [match.span() for match in re.finditer(r" ?[^ ]+", text)]

    def capture(
        self,
        run: str,
        tokens: Sequence[int],
        hooks: Sequence[Hook],
        layers: Sequence[int],
        positions: Sequence[int],
    ) -> SourceRun:
        self._note(f"capture {'own' if run.endswith('.own') else run}")
        if not tokens:
            raise BadRequest("the prompt has no tokens")
        self.generation += 1
        made = SourceRun(
            run=run, generation=self.generation, prompt=prompt_digest(tokens),
            n_tokens=len(tokens), hooks=list(hooks), layers=list(layers), positions=list(positions),
            bytes=1, weights=self.weights, age_seconds=0.0, lease_seconds=None,
        )  # fmt: skip
        self.runs[run] = (made, list(tokens))
        return made

    def manifests(self) -> dict[str, SourceRun]:
        return {name: run for name, (run, _) in self.runs.items()}

    def source_budget(self) -> int:
        return 1000

    def lease(self, run: str, holder: str) -> bool:
        self._note(f"lease {run}")
        if run in self.runs:
            self.leases.add((run, holder))
        return run in self.runs

    def release(self, run: str, holder: str) -> bool:
        self._note(f"release {run}")
        self.leases.discard((run, holder))
        return run in self.runs

    def drop(self, run: str, generation: int | None = None) -> bool:
        self._note(f"drop {'own' if run.endswith('.own') else run}")
        held = self.runs.get(run)
        if held is None or generation not in (None, held[0].generation):
            return False
        del self.runs[run]
        return True

    def unpatched(self, tokens: Sequence[int], ids: Sequence[int]) -> list[float]:
        """Log-probabilities of the ids after a prompt."""
        return [-1.0 - (sum(tokens) * 31 + 7 * i) % 50 / 10 for i in ids]

    def quantities(self) -> tuple[Quantity, ...]:
        return ("logprob",)

    def baselines(
        self, asked: Sequence[tuple[Sequence[int], Readout]], hooks: Sequence[Hook]
    ) -> list[list[float]]:
        self._note(f"baselines {len(asked)}")
        for tokens, _ in asked:
            if not 0 < len(tokens) <= LONGEST:
                raise BadRequest(f"the prompt has {len(tokens)} tokens")
        return [self.unpatched(tokens, ids_of(readout)) for tokens, readout in asked]

    def value(self, spot: Spot) -> float:
        """What a write puts there: the mean of its source's numbers."""
        total = 0.0
        for source, sign, of in terms(spot.write.source):
            if isinstance(source, FromRun):
                held = self.runs.get(source.run)
                if held is None or source.generation not in (None, held[0].generation):
                    raise SourceRunDropped(source.run)
                if spot.layer not in held[0].layers or spot.hook not in held[0].hooks:
                    raise UnknownSourceRun("patch source not found")
                total += sign * held[1][source.positions[spot.which]] / of
            else:
                total += sign * float(source.values.mean()) / of
        return total

    def effect(self, spot: Spot, tokens: Sequence[int]) -> float:
        """What a write adds."""
        write = spot.write
        share = 1.0 if write.mask is None else float(write.mask.mean())
        at = weight(spot.hook, spot.layer, spot.position)
        there = tokens[spot.position] if write.how == "set" else 0.0
        return write.alpha * share * at * (self.value(spot) - there)

    def row(self, row: Row, tokens: Sequence[int], ids: Sequence[int]) -> list[float]:
        """Log-probabilities of a patched run."""
        some = spots(row.writes)
        if not row.computed and len(some) == 1:
            forced = self.forced.get((some[0].hook, some[0].layer, some[0].position))
            if forced is not None:
                return forced[: len(ids)]
        moved = sum(self.effect(spot, tokens) for spot in some)
        if row.computed:
            moved += self.drift if row.writes else self.noise
        return [value + moved * (1 + k) for k, value in enumerate(self.unpatched(tokens, ids))]

    def score(self, work: Iterable[Work]) -> Iterator[Scores]:
        self._note("score")
        try:
            for number, each in enumerate(work):
                yield from self._score(number, each)
            self.log.append("score ended")
        finally:
            self.log.append("score closed")

    def _score(self, number: int, work: Work) -> Iterator[Scores]:
        for start in range(0, len(work.rows), self.chunk):
            self.before_chunk(start // self.chunk)
            part = range(start, min(start + self.chunk, len(work.rows)))
            values = [self.row(work.rows[i], work.tokens, ids_of(work.readout)) for i in part]
            self.scored += [work.rows[i] for i in part]
            yield Scores(tuple(part), np.array(values), len(part), number)

    def linearise(self, asked: Iterable[Slope]) -> Iterator[Scores]:
        """Everything here is linear, so first order is all there is: the same numbers."""
        self._note("linearise")
        for number, slope in enumerate(asked):
            ids, rows = ids_of(slope.work.readout), slope.work.rows
            tokens, there = slope.work.tokens, self.unpatched(slope.work.tokens, ids)
            moved = [np.array(self.row(row, tokens, ids)) - there for row in rows]
            values = np.array(moved).reshape(len(rows), len(ids)) @ np.array(slope.weights).T
            yield Scores(tuple(range(len(rows))), values, len(rows), number)

    def mix(self, asked: Iterable[Mixture]) -> Iterator[Scores]:
        raise BadRequest("the scripted model has no heads")

    def cost(self, work: Iterable[Work]) -> Cost:
        n = sum(len(each.rows) for each in work)
        return Cost(n, 10 * n, 1000, n / 100, -(-n // self.chunk))

    def read(self, run: str, sites: Sequence[Site]) -> list[Vector]:
        held = self.runs[run][1]
        return [
            np.array([[held[p]] * WIDTH for p in site.positions], dtype=np.float32)
            for site in sites
        ]

    def generate(self, request: GenerateRequest) -> Iterator[GeneratedToken]:
        self._note("generate")
        for step in range(request.max_tokens):
            token = (sum(request.tokens) + step) % len(WORDS)
            yield GeneratedToken(token, -1.0, {}, () if step else self.scored_prompt(request))

    def sample(
        self, asked: Sequence[GenerateRequest], edit: Edit | None = None
    ) -> Iterator[list[Sampled]]:
        self._note("sample")
        for number, request in enumerate(asked):
            yield [Sampled(number, tuple(made.token for made in self.generate(request)))]

    def scored_prompt(self, request: GenerateRequest) -> tuple[PromptToken, ...]:
        """The prompt's tokens from the second on, if they were asked for."""
        if request.prompt_logprobs is None:
            return ()
        tokens, most = request.tokens, request.prompt_logprobs
        out = []
        for i in range(1, len(tokens)):
            told = self.unpatched(tokens[:i], range(len(WORDS)))
            best = sorted(range(len(WORDS)), key=lambda id_: -told[id_])
            likeliest = {id_: told[id_] for id_ in best[:most]}
            rank = best.index(tokens[i]) + 1
            out.append(PromptToken(tokens[i], told[tokens[i]], rank, likeliest))
        return tuple(out)
