"""What a general sweep starts from: a checked request, its prompts in tokens, its zero and its one.

Everything that can be wrong with a request raises here or while its tables are laid out, before the
first event. What is captured for it is dropped when its stack closes.
"""

import math
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Self, cast

from sonde.backends.base import Backend, GenerateRequest, Quantity, Readout, Vector
from sonde.engine.answers import NEEDS_CLEAN, Grades, Question, Reading
from sonde.engine.plan import Limits
from sonde.errors import BadRequest, NotOneToken, SourceRunDropped
from sonde.schema import Alignment, Hook, ModelDescription, Skipped, SpanPosition
from sonde.schema.pair import PromptPair, Role
from sonde.schema.prompt import Answers, Prompt
from sonde.schema.table import SweepRequest, TableMetric

MOST_ANSWER_TOKENS = 32
NOT_OF_EDGES = ("hooks", "layers", "heads", "features")
EDGE_HOOKS: Sequence[Hook] = ("z", "mlp_out", "q", "k", "v")
"""What edges begin and end at; they begin at the embedding too, and end at the last residual."""


@dataclass(frozen=True)
class Prompts:
    """What one trial is about, in the words of its request."""

    corrupt: Prompt
    clean: Prompt | None
    answer: Answers
    foil: Answers | None
    roles: Mapping[str, Role] = field(default_factory=dict)

    @classmethod
    def of(cls, request: SweepRequest) -> Self:
        """Those of a request that is about one prompt."""
        if request.pairs is not None:
            raise BadRequest("a request with `pairs` is about many prompts, and one was expected")
        if request.corrupt is None or request.answer is None:
            missing = "corrupt" if request.corrupt is None else "answer"
            raise BadRequest(f"{missing}: a sweep needs `corrupt` and `answer`, or `pairs`")
        return cls(request.corrupt, request.clean, request.answer, request.foil)

    @classmethod
    def of_pair(cls, pair: PromptPair) -> Self:
        """Those of one pair of many."""
        return cls(pair.corrupt, pair.clean, pair.answer, pair.foil, pair.roles)


@dataclass(frozen=True, eq=False)
class Foreign:
    """Activations of the clean prompt in a model of other weights: another checkpoint."""

    weights: str
    tokens: tuple[int, ...]
    values: Mapping[tuple[Hook, int], Vector]
    """[positions, width] at every hook and layer that is written."""


@dataclass
class Setting:
    """One corrupt prompt on one backend, with everything that its rows may need."""

    backend: Backend
    model: ModelDescription
    request: SweepRequest
    prompts: Prompts
    question: Question
    corrupt: list[int]
    clean: list[int] | None
    limits: Limits
    cleanup: ExitStack
    """Closes when the sweep ends, however it does."""
    holder: str = field(default_factory=lambda: f"sweep-{uuid.uuid4().hex[:12]}")
    warnings: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    alignment: Alignment | None = None
    places: Sequence[int | str | SpanPosition] | None = None
    """With many pairs: the columns that all of them share."""
    foreign: "Foreign | None" = None
    """The clean prompt's activations in another model, where those are written."""
    leased: list[str] = field(default_factory=list)

    def lease(self, run: str) -> None:
        """Protect a source run until the sweep ends."""
        if not self.backend.lease(run, self.holder):
            raise SourceRunDropped(run)
        self.cleanup.callback(self.backend.release, run, self.holder)
        self.leased.append(run)

    def told(self) -> Sequence[Quantity]:
        """What the backend can tell of a row."""
        return self.backend.quantities()


def set_up(
    backend: Backend,
    request: SweepRequest,
    limits: Limits,
    cleanup: ExitStack,
    *,
    prompts: Prompts | None = None,
    find_rival: bool = True,
) -> Setting:
    """Check what can be checked before the rows are known, and turn texts into tokens.

    Features whose metric needs a foil, with none named, have the answer's strongest rival as foil:
    the prompt is run once for it, and the notes say which it is. Without `find_rival` the model is
    asked nothing, and such a setting has no foil. `prompts` are the request's own, unless they are
    those of one pair of many.
    """
    model = backend.describe()
    _check_edges(request)
    given = prompts or Prompts.of(request)
    against_rival = request.features is not None and request.pairs is None
    metric = request.metric or ("logit_diff" if against_rival else "logprob")
    metrics = tuple(dict.fromkeys([metric, *(request.metrics or [])]))
    _check_reward(request, metrics)
    _check_metrics(request, given, metrics)
    corrupt = prompt_tokens(backend, model, given.corrupt, limits)
    clean = None if given.clean is None else prompt_tokens(backend, model, given.clean, limits)
    answers = _options(backend, model, "answer", given.answer)
    notes: dict[str, str] = {}
    foils: tuple[tuple[int, ...], ...] = ()
    if given.foil is not None:
        foils = _options(backend, model, "foil", given.foil)
    elif "logit_diff" in metrics and find_rival:
        rival = _rival(backend, corrupt, answers)
        foils = ((rival,),)
        notes = {"foil": backend.detokenize([rival]), "foil_id": str(rival)}
    question = Question(
        answers, foils, metrics, tuple(corrupt), None if clean is None else tuple(clean)
    )
    notes |= _long(backend, "answer", answers)
    if given.foil is not None:
        notes |= _long(backend, "foil", foils)
    return Setting(
        backend, model, request, given, question, corrupt, clean, limits, cleanup, notes=notes
    )


def prompt_tokens(
    backend: Backend, model: ModelDescription, given: Prompt, limits: Limits
) -> list[int]:
    """The tokens of a prompt, or those that were given themselves."""
    if len(given) > limits.prompt_chars:
        unit = "characters" if isinstance(given, str) else "tokens"
        raise BadRequest(f"a prompt of {len(given)} {unit}; at most {limits.prompt_chars}")
    if isinstance(given, str):
        return backend.tokenize(given)
    bad = [token for token in given if not 0 <= token < model.vocabulary]
    if bad:
        raise BadRequest(f"prompt token {bad[0]} is outside the vocabulary [0, {model.vocabulary})")
    return list(given)


def _rival(backend: Backend, tokens: Sequence[int], answers: Sequence[tuple[int, ...]]) -> int:
    """The likeliest token after the prompt that begins no answer."""
    begins = {answer[0] for answer in answers}
    asked = GenerateRequest(tuple(tokens), max_tokens=1, top_logprobs=len(begins) + 1)
    said = next(iter(backend.generate(asked)))
    others = {token: value for token, value in said.logprobs.items() if token not in begins}
    return max(others, key=lambda token: others[token])


def of_edges(request: SweepRequest) -> bool:
    """Whether a request is about edges and not about sites."""
    return request.senders is not None or request.receivers is not None


def _check_edges(request: SweepRequest) -> None:
    """What can be wrong with such a request whatever the model is."""
    if not of_edges(request):
        if request.frozen is not None:
            raise BadRequest("frozen: it is of edges; name `senders` and `receivers` too")
        return
    if request.senders is None or request.receivers is None:
        missing = "senders" if request.senders is None else "receivers"
        raise BadRequest(f"{missing}: edges go from `senders` to `receivers`; name both")
    for name in NOT_OF_EDGES:
        if getattr(request, name) is not None:
            raise BadRequest(f"{name} are not of edges: leave them out, or `senders`")
    if request.method != "exact" and request.frozen == "path+mlps":
        raise BadRequest(
            "frozen 'path+mlps' has no scores to first order, which follow single edges: take "
            "'edge' or 'path', or method 'exact'"
        )


def _check_reward(request: SweepRequest, metrics: Sequence[TableMetric]) -> None:
    """Completions of a run are sampled where its prompts and its verifier are, not here."""
    if request.reward is not None:
        raise BadRequest(
            "`reward` samples completions of a run on its checkpoint, and this sweep is of one "
            "model's prompts: leave it out"
        )
    if "reward" in metrics:
        raise BadRequest(
            "metric 'reward' grades completions of a run: give `reward` and `features`"
        )


def _check_metrics(request: SweepRequest, given: Prompts, metrics: Sequence[TableMetric]) -> None:
    found = request.features is not None and request.pairs is None
    if "logit_diff" in metrics and given.foil is None and not found:
        raise BadRequest("metric 'logit_diff' is answer minus foil: name a foil")
    missing = [metric for metric in metrics if metric in NEEDS_CLEAN]
    if missing and given.clean is None:
        raise BadRequest(f"metric {missing[0]!r} compares with the clean prompt: name one")


def _options(
    backend: Backend, model: ModelDescription, name: str, given: Answers
) -> tuple[tuple[int, ...], ...]:
    """Token sequences of one answer, or of each of several."""
    each = given if isinstance(given, list) else [given]
    out = []
    for one in each:
        tokens = (one,) if isinstance(one, int) else tuple(backend.tokenize(one, special=False))
        if not tokens:
            raise NotOneToken(name, cast(str, one), [], [])
        if len(tokens) > MOST_ANSWER_TOKENS:
            raise BadRequest(
                f"{name} {one!r} is {len(tokens)} tokens; at most {MOST_ANSWER_TOKENS} are graded"
            )
        bad = [token for token in tokens if not 0 <= token < model.vocabulary]
        if bad:
            raise BadRequest(f"{name} {bad[0]} is outside the vocabulary [0, {model.vocabulary})")
        out.append(tokens)
    if len(set(out)) < len(out):
        raise BadRequest(f"{name} names the same tokens twice; keep one of them")
    return tuple(out)


def _long(backend: Backend, name: str, options: Sequence[Sequence[int]]) -> dict[str, str]:
    """Said of answers of several tokens, because one that lacks its blank often becomes one."""
    split = ["|".join(backend.detokenize([t]) for t in each) for each in options if len(each) > 1]
    if not split:
        return {}
    told = "several tokens, each graded after those before it"
    return {f"{name}_tokens": f"{', '.join(split)}: {told}"}


Graded = tuple[Grades, list[list[float]]]
"""The zero and the one of the scale; and what each variant of the corrupt prompt tells."""


def grades(setting: Setting) -> Graded:
    """Run the prompts of a setting, unpatched."""
    [found] = grades_together([setting])
    return found


def grades_together(settings: Sequence[Setting]) -> list[Graded]:
    """Run the prompts of several settings side by side: the weights are read once for all."""
    prompts = [_unpatched(setting) for setting in settings]
    first = settings[0]
    named: Sequence[str] = first.request.hooks or ()
    if first.request.hooks is None and first.request.features is None:
        named = EDGE_HOOKS if of_edges(first.request) else ["post_block"]
    hooks = [hook for hook in first.model.hooks if hook in named] or first.model.layer_hooks
    found = iter(first.backend.baselines([each for some in prompts for each in some], hooks))
    return [
        _graded(setting, [next(found) for _ in some])
        for setting, some in zip(settings, prompts, strict=True)
    ]


def _unpatched(setting: Setting) -> list[tuple[Sequence[int], Readout]]:
    """Every variant of the corrupt prompt, then of the clean one."""
    question, told = setting.question, setting.told()
    return [
        ([*tokens, *variant], question.readout(variant, len(tokens), told))
        for tokens in (setting.corrupt, setting.clean)
        if tokens is not None
        for variant in question.variants
    ]


def _graded(setting: Setting, found: Sequence[list[float]]) -> Graded:
    question = setting.question
    n = len(question.variants)
    corrupt = list(found[:n])
    clean = None if setting.clean is None else question.read(found[n:])
    return Grades(question, _finite(question.read(corrupt)), clean), corrupt


def _finite(reading: Reading) -> Reading:
    """A scale needs a zero: without one there is nothing to compare cells with."""
    if not math.isfinite(reading.answer):
        raise BadRequest(
            f"the unpatched prompt's answer has {reading.answer}, not a finite number; load the "
            "model in a wider dtype, or choose another answer"
        )
    return reading
