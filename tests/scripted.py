"""A backend without a model: log-probabilities are a known function of the tokens and the patches.

Words are tokens, a leading blank included, and a word's id is its place in `WORDS`. A patch adds
`alpha * weight * (source - what is there)` to each graded log-probability, where an activation is
its token's id and the weight depends on the site alone. So every number can be worked out by hand,
and a patch of a prompt with itself adds exactly nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sonde.backends.base import (
    Cost,
    FromRun,
    FromVector,
    GeneratedToken,
    GenerateRequest,
    Patch,
    Row,
    Scores,
)
from sonde.errors import BadRequest, SourceRunDropped, UnknownSourceRun
from sonde.prompts import prompt_digest
from sonde.schema import HOOKS, Hook, ModelDescription, Site, SourceRun

WORDS = ["<s>", "The", " Eiffel", " Tower", " is", " in", " the", " city", " of", " Paris", " Rome"]
WORDS += [" Colosseum", " Great", " Wall", " big", " red", " x"]
LAYERS, WIDTH, LONGEST = 4, 8, 12
Key = tuple[Hook, int, int]


def weight(hook: Hook, layer: int, position: int) -> float:
    """What a unit of difference at a site adds."""
    return (1 + HOOKS.index(hook)) * (layer + 1) / 100 + position / 1000


@dataclass
class Scripted:
    """The backend; its fields are what tests turn."""

    chunk: int = 5
    exact: bool = True
    hooks: tuple[Hook, ...] = HOOKS
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
            dtype="float32", device="cpu", weights=self.weights, path="packed", path_reason=None,
            exact=self.exact,
        )  # fmt: skip

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        words = re.findall(r" ?[^ ]+", text)
        return [0] * special * bool(words) + [WORDS.index(word) for word in words]

    def detokenize(self, tokens: Sequence[int]) -> str:
        return "".join(WORDS[token] for token in tokens if token)

    def render_chat(
        self, messages: Sequence[Mapping[str, str]], *, generation_prompt: bool = True
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

    def baselines(
        self, prompts: Sequence[Sequence[int]], token_ids: Sequence[int], hooks: Sequence[Hook]
    ) -> list[list[float]]:
        self._note(f"baselines {len(prompts)}")
        for tokens in prompts:
            if not 0 < len(tokens) <= LONGEST:
                raise BadRequest(f"the prompt has {len(tokens)} tokens")
        return [self.unpatched(tokens, token_ids) for tokens in prompts]

    def effect(self, patch: Patch, tokens: Sequence[int]) -> float:
        """What a patch adds."""
        source = patch.source
        if isinstance(source, FromRun):
            held = self.runs.get(source.run)
            if held is None or source.generation not in (None, held[0].generation):
                raise SourceRunDropped(source.run)
            if patch.layer not in held[0].layers or patch.hook not in held[0].hooks:
                raise UnknownSourceRun("patch source not found")
            value = float(np.mean([held[1][p] for p in source.positions]))
        else:
            assert isinstance(source, FromVector)
            value = float(source.values.mean())
        share = 1.0 if patch.mask is None else float(patch.mask.mean())
        at = weight(patch.hook, patch.layer, patch.position)
        return patch.alpha * share * at * (value - tokens[patch.position])

    def row(self, row: Row, tokens: Sequence[int], ids: Sequence[int]) -> list[float]:
        """Log-probabilities of a patched run."""
        if not row.computed and len(row.patches) == 1:
            patch = row.patches[0]
            forced = self.forced.get((patch.hook, patch.layer, patch.position))
            if forced is not None:
                return forced[: len(ids)]
        moved = sum(self.effect(patch, tokens) for patch in row.patches)
        if row.computed:
            moved += self.drift if row.patches else self.noise
        return [value + moved * (1 + k) for k, value in enumerate(self.unpatched(tokens, ids))]

    def score(
        self, tokens: Sequence[int], rows: Sequence[Row], token_ids: Sequence[int]
    ) -> Iterator[Scores]:
        self._note("score")
        try:
            for start in range(0, len(rows), self.chunk):
                self.before_chunk(start // self.chunk)
                part = range(start, min(start + self.chunk, len(rows)))
                values = [self.row(rows[i], tokens, token_ids) for i in part]
                self.scored += [rows[i] for i in part]
                yield Scores(tuple(part), np.array(values), computed=len(part))
            self.log.append("score ended")
        finally:
            self.log.append("score closed")

    def cost(self, tokens: Sequence[int], sites: Sequence[Site]) -> Cost:
        return Cost(
            len(sites), 10 * len(sites), 1000, len(sites) / 100, -(-len(sites) // self.chunk)
        )

    def generate(self, request: GenerateRequest) -> Iterator[GeneratedToken]:
        self._note("generate")
        for step in range(request.max_tokens):
            token = (sum(request.tokens) + step) % len(WORDS)
            yield GeneratedToken(token, -1.0, {})
