"""A completion request, checked and made concrete before it waits for its turn.

Everything that is wrong with a request is found here, on another thread than the model's, so that
it costs the model nothing and is answered with a status, in a stream too.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from sonde.backends.base import Backend, Write
from sonde.backends.spots import runs_in
from sonde.engine import Limits, NamedVectors
from sonde.errors import BadRequest, SourceRunDropped
from sonde.schema import (
    Capture,
    ChatRequest,
    CompletionRequest,
    ModelDescription,
)
from sonde.schema.completion import Asking
from sonde.server.completion.blame import blaming
from sonde.server.completion.capturing import CaptureArguments, plan_capture
from sonde.server.completion.chat_prompt import chat_tokens
from sonde.server.completion.decoding import text_offsets, token_offsets
from sonde.server.completion.fields import refuse_chat_fields, refuse_completion_fields
from sonde.server.completion.patching import resolve

MOST_CHOICES = 1024
MOST_STOPS = 64
MOST_STOP_IDS = 64
MOST_TOKEN_IDS = 128
MOST_PROMPT_LOGPROBS = 2**18
"""Log-probabilities of prompts in one answer: some 20 MB of JSON."""
DEFAULT_TOKENS = 16
"""How long a completion is when nothing is said, as in OpenAI's API."""


@dataclass(frozen=True)
class Prompt:
    """One prompt, as tokens and as the text that `echo` repeats."""

    tokens: tuple[int, ...]
    text: str = ""
    offsets: tuple[int, ...] = ()
    """Where each token begins in the text, if the tokens are shown with it."""


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen."""

    max_tokens: int
    temperature: float
    top_p: float
    seed: int
    top_k: int
    min_p: float
    repetition_penalty: float


@dataclass(frozen=True)
class Ending:
    """What ends a choice before it has all of its tokens."""

    strings: tuple[str, ...]
    ids: frozenset[int]
    """The model's end tokens, unless they are ignored, and those that were named."""
    named: frozenset[int]
    """Those of `ids` that are given as the reason for an end."""
    included: bool
    """Whether what ends a choice is part of its text."""
    min_tokens: int


@dataclass(frozen=True)
class PromptScoring:
    """How many of the likeliest tokens are shown at each position of a prompt; None: nothing."""

    echoed: int | None = None
    listed: int | None = None

    @property
    def most(self) -> int | None:
        """What has to be computed for both."""
        return max((k for k in (self.echoed, self.listed) if k is not None), default=None)


@dataclass(frozen=True)
class Shown:
    """Which log-probabilities are wanted: none, the likeliest, or those of some tokens."""

    wanted: bool = False
    likeliest: int = 0
    ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class AdmittedRequest:
    """A request that can be run as it is."""

    id: str
    model: ModelDescription
    prompts: tuple[Prompt, ...]
    n: int
    sampling: Sampling
    ending: Ending
    shown: Shown
    scoring: PromptScoring = PromptScoring()
    writes: tuple[Write, ...] = ()
    capture: CaptureArguments | None = None
    capture_wait: bool = False
    stream: bool = False
    include_usage: bool = False

    @property
    def runs(self) -> set[str]:
        """The source runs that writes take from."""
        return set(runs_in(self.writes))

    def lease(self, backend: Backend) -> None:
        """Protect the source runs from eviction."""
        for run in self.runs:
            if not backend.lease(run, self.id):
                raise SourceRunDropped(run)

    def release(self, backend: Backend) -> None:
        """Give the leases back."""
        for run in self.runs:
            backend.release(run, self.id)


def admit_completion(
    request: CompletionRequest, backend: Backend, modules: NamedVectors, limits: Limits
) -> AdmittedRequest:
    """Check a completion."""
    model = backend.describe()
    refuse_completion_fields(request)
    with blaming("prompt"):
        prompts = _prompts(request, backend, limits)
    shown = _shown(request, request.logprobs is not None, request.logprobs or 0, model)
    asked = DEFAULT_TOKENS if request.max_tokens is None else request.max_tokens
    echoed = request.logprobs if request.echo else None
    return _admit(request, "cmpl", prompts, asked, shown, echoed, backend, modules)


def admit_chat(
    request: ChatRequest, backend: Backend, modules: NamedVectors, limits: Limits
) -> AdmittedRequest:
    """Check a chat completion."""
    model = backend.describe()
    refuse_chat_fields(request)
    with blaming("messages"):
        going_on = bool(request.continue_final_message)
        said = request.add_generation_prompt
        tokens = chat_tokens(
            request.messages,
            backend,
            limits,
            generation_prompt=not going_on if said is None else said,
            continue_final=going_on,
        )
    shown = _shown(request, bool(request.logprobs), request.top_logprobs or 0, model)
    limit = [request.max_completion_tokens, request.max_tokens, model.max_tokens - len(tokens)]
    most = next(each for each in limit if each is not None)
    prompt = Prompt(tuple(tokens))
    return _admit(request, "chatcmpl", [prompt], most, shown, None, backend, modules)


def _admit(
    request: Asking,
    kind: str,
    prompts: list[Prompt],
    max_tokens: int,
    shown: Shown,
    echoed: int | None,
    backend: Backend,
    modules: NamedVectors,
) -> AdmittedRequest:
    model, n, own_id = backend.describe(), request.n or 1, f"{kind}-{secrets.token_hex(16)}"
    with blaming("messages" if kind == "chatcmpl" else "prompt"):
        _check_prompts(prompts, model)
    with blaming("n"):
        if len(prompts) * n > MOST_CHOICES:
            raise BadRequest(f"{len(prompts) * n} choices; at most {MOST_CHOICES} are admitted")
    scoring = PromptScoring(echoed, request.prompt_logprobs)
    computed = max_tokens if scoring.most is None else max(max_tokens, 1)
    with blaming("max_tokens"):
        _check_room(prompts, max_tokens, computed, model)
    with blaming("prompt_logprobs" if echoed is None else "echo"):
        _check_scoring(prompts, n, scoring)
    capture = None
    if request.capture is not None:
        capture = _capture(request, request.capture, prompts, own_id, model)
    shortest = min(len(prompt.tokens) for prompt in prompts)
    reach = shortest + computed - 1 if computed else 0
    writes = resolve(request.patch or [], request.patch_vectors, backend, modules, reach)
    options = request.stream_options
    return AdmittedRequest(
        own_id, model, tuple(prompts), n, _sampling(request, max_tokens),
        _ending(request, max_tokens, model), shown, scoring, writes, capture,
        bool(request.capture_wait), bool(request.stream),
        options is not None and options.include_usage,
    )  # fmt: skip


def _prompts(request: CompletionRequest, backend: Backend, limits: Limits) -> list[Prompt]:
    """The prompts of any of the four forms."""
    given = request.prompt
    if not given:
        raise BadRequest("the prompt is empty; give it some text")
    each = [given] if isinstance(given, str) or isinstance(given[0], int) else given
    chars = sum(len(prompt) for prompt in each if isinstance(prompt, str))
    if chars > limits.prompt_chars:
        raise BadRequest(f"prompts of {chars} characters; at most {limits.prompt_chars}")
    if len(each) > MOST_CHOICES:
        raise BadRequest(f"{len(each)} prompts; at most {MOST_CHOICES} are admitted")
    placed = bool(request.echo) and request.logprobs is not None
    return [_prompt(prompt, backend, bool(request.echo), placed) for prompt in each]


def _prompt(prompt: object, backend: Backend, echo: bool, placed: bool) -> Prompt:
    if isinstance(prompt, str):
        offsets = text_offsets(prompt, backend) if placed else ()
        return Prompt(tuple(backend.tokenize(prompt)), prompt if echo else "", offsets)
    assert isinstance(prompt, list)
    _check_ids(prompt, backend.describe())
    text = backend.detokenize(prompt) if echo else ""
    return Prompt(tuple(prompt), text, token_offsets(prompt, text, backend) if placed else ())


def _check_ids(ids: Iterable[int], model: ModelDescription) -> None:
    for token in ids:
        if not 0 <= token < model.vocabulary:
            raise BadRequest(f"token id {token} is outside the vocabulary [0, {model.vocabulary})")


def _check_prompts(prompts: list[Prompt], model: ModelDescription) -> None:
    for prompt in prompts:
        count = len(prompt.tokens)
        if not count:
            raise BadRequest("the prompt has no tokens; give it some text")
        if count > model.max_tokens:
            raise BadRequest(
                f"the prompt has {count} tokens; {model.name} takes at most {model.max_tokens}"
            )


def _check_room(
    prompts: list[Prompt], max_tokens: int, computed: int, model: ModelDescription
) -> None:
    longest = max(len(prompt.tokens) for prompt in prompts)
    if max_tokens < computed and longest == model.max_tokens:
        raise BadRequest(
            f"the prompt has {longest} tokens, as many as {model.name} takes, and its "
            "log-probabilities need room for one more, also with max_tokens 0: shorten it by one"
        )
    if longest + max_tokens > model.max_tokens:
        raise BadRequest(
            f"the prompt has {longest} tokens and max_tokens is {max_tokens}; {model.name} takes "
            f"at most {model.max_tokens} together: ask for {model.max_tokens - longest} or fewer"
        )


def _check_scoring(prompts: list[Prompt], n: int, scoring: PromptScoring) -> None:
    if scoring.most is None:
        return
    count = n * (scoring.most + 1) * sum(len(prompt.tokens) for prompt in prompts)
    if count > MOST_PROMPT_LOGPROBS:
        raise BadRequest(
            f"{count} log-probabilities of prompts; at most {MOST_PROMPT_LOGPROBS} are admitted: "
            "send fewer prompts at a time, or ask for fewer of the likeliest tokens"
        )


def _sampling(request: Asking, max_tokens: int) -> Sampling:
    return Sampling(
        max_tokens,
        1.0 if request.temperature is None else request.temperature,
        1.0 if request.top_p is None else request.top_p,
        secrets.randbits(62) if request.seed is None else request.seed,
        max(request.top_k or 0, 0),
        request.min_p or 0.0,
        1.0 if request.repetition_penalty is None else request.repetition_penalty,
    )


def _ending(request: Asking, max_tokens: int, model: ModelDescription) -> Ending:
    stops = [request.stop] if isinstance(request.stop, str) else request.stop or []
    with blaming("stop"):
        if "" in stops:
            raise BadRequest("a stop string is empty; it would end every text at once")
        if len(stops) > MOST_STOPS:
            raise BadRequest(f"{len(stops)} stop strings; at most {MOST_STOPS} are admitted")
    ids = request.stop_token_ids or []
    with blaming("stop_token_ids"):
        if len(ids) > MOST_STOP_IDS:
            raise BadRequest(f"{len(ids)} stop_token_ids; at most {MOST_STOP_IDS} are admitted")
        _check_ids(ids, model)
    least = request.min_tokens or 0
    with blaming("min_tokens"):
        if least > max_tokens:
            raise BadRequest(f"min_tokens is {least} and max_tokens is {max_tokens}; make it fewer")
    own = frozenset() if request.ignore_eos else frozenset(model.end_ids)
    included = bool(request.include_stop_str_in_output)
    return Ending(tuple(stops), own | set(ids), frozenset(ids) - own, included, least)


def _shown(request: Asking, wanted: bool, likeliest: int, model: ModelDescription) -> Shown:
    ids = request.logprob_token_ids or []
    with blaming("logprob_token_ids"):
        if len(ids) > MOST_TOKEN_IDS:
            raise BadRequest(f"{len(ids)} logprob_token_ids; at most {MOST_TOKEN_IDS} are admitted")
        if ids and not wanted:
            raise BadRequest("logprob_token_ids needs logprobs to be set")
        _check_ids(ids, model)
    if ids:
        return Shown(wanted, 0, tuple(dict.fromkeys(ids)))
    return Shown(wanted, min(likeliest, model.vocabulary))


def _capture(
    request: Asking, capture: Capture, prompts: list[Prompt], own_id: str, model: ModelDescription
) -> CaptureArguments:
    with blaming("capture"):
        if request.patch:
            raise BadRequest(
                "capture and patch in one request: a source run is always of an unpatched prompt; "
                "capture first, then patch"
            )
        if len(prompts) > 1:
            raise BadRequest(
                f"capture with {len(prompts)} prompts: a source run holds one; send them singly"
            )
    return plan_capture(capture.patch_source, own_id, model, len(prompts[0].tokens))
