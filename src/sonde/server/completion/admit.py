"""A completion request, checked and made concrete before it waits for its turn.

Everything that is wrong with a request is found here, on another thread than the model's, so that
it costs the model nothing and is answered with a status, in a stream too.
"""

import secrets
from dataclasses import dataclass

from sonde.backends.base import Backend, FromRun, Patch
from sonde.engine import Limits, NamedVectors
from sonde.errors import BadRequest, SourceRunDropped, UnknownModel
from sonde.schema import (
    Capture,
    ChatRequest,
    CompletionRequest,
    ModelDescription,
)
from sonde.schema.completion import Asking
from sonde.server.completion.blame import blaming
from sonde.server.completion.capturing import CapturePlan, plan_capture
from sonde.server.completion.chat_prompt import chat_tokens
from sonde.server.completion.fields import refuse_chat_fields, refuse_completion_fields
from sonde.server.completion.patching import resolve

MOST_CHOICES = 1024
MOST_STOPS = 64
MOST_TOKEN_IDS = 128
DEFAULT_TOKENS = 16
"""How long a completion is when nothing is said, as in OpenAI's API."""


@dataclass(frozen=True)
class Prompt:
    """One prompt, as tokens and as the text that `echo` repeats."""

    tokens: tuple[int, ...]
    text: str = ""


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen."""

    max_tokens: int
    temperature: float
    top_p: float
    seed: int
    stops: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """Which log-probabilities are wanted: none, the likeliest, or those of some tokens."""

    wanted: bool = False
    likeliest: int = 0
    ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A request that can be run as it is."""

    id: str
    model: ModelDescription
    prompts: tuple[Prompt, ...]
    n: int
    sampling: Sampling
    shown: Shown
    patches: tuple[Patch, ...] = ()
    capture: CapturePlan | None = None
    capture_wait: bool = False
    stream: bool = False
    include_usage: bool = False

    @property
    def runs(self) -> set[str]:
        """The source runs that patches take from."""
        sources = (patch.source for patch in self.patches)
        return {source.run for source in sources if isinstance(source, FromRun)}

    def lease(self, backend: Backend) -> None:
        """Protect the source runs from eviction."""
        for run in self.runs:
            if not backend.lease(run, self.id):
                raise SourceRunDropped(run)

    def release(self, backend: Backend) -> None:
        """Give the leases back."""
        for run in self.runs:
            backend.release(run, self.id)


def check_model(name: str | None, model: ModelDescription) -> None:
    """The model that is asked for is the one there is."""
    if name is not None and name != model.name:
        raise UnknownModel(
            f"the model {name[:200]!r} does not exist here; {model.name!r} is loaded"
        )


def admit_completion(
    request: CompletionRequest, backend: Backend, modules: NamedVectors, limits: Limits
) -> Asked:
    """Check a completion."""
    model = backend.describe()
    check_model(request.model, model)
    refuse_completion_fields(request)
    with blaming("prompt"):
        prompts = _prompts(request, backend, limits)
    shown = _shown(request, request.logprobs is not None, request.logprobs or 0, model)
    asked = request.max_tokens
    return _admit(
        request,
        "cmpl",
        prompts,
        DEFAULT_TOKENS if asked is None else asked,
        shown,
        backend,
        modules,
    )


def admit_chat(
    request: ChatRequest, backend: Backend, modules: NamedVectors, limits: Limits
) -> Asked:
    """Check a chat completion."""
    model = backend.describe()
    check_model(request.model, model)
    refuse_chat_fields(request)
    with blaming("messages"):
        tokens = chat_tokens(request.messages, backend, limits)
    shown = _shown(request, bool(request.logprobs), request.top_logprobs or 0, model)
    said = [request.max_completion_tokens, request.max_tokens, model.max_tokens - len(tokens)]
    most = next(limit for limit in said if limit is not None)
    return _admit(request, "chatcmpl", [Prompt(tuple(tokens))], most, shown, backend, modules)


def _admit(
    request: Asking,
    kind: str,
    prompts: list[Prompt],
    max_tokens: int,
    shown: Shown,
    backend: Backend,
    modules: NamedVectors,
) -> Asked:
    model, n, own_id = backend.describe(), request.n or 1, f"{kind}-{secrets.token_hex(16)}"
    with blaming("messages" if kind == "chatcmpl" else "prompt"):
        _check_prompts(prompts, model)
    with blaming("n"):
        if len(prompts) * n > MOST_CHOICES:
            raise BadRequest(f"{len(prompts) * n} choices; at most {MOST_CHOICES} are admitted")
    with blaming("max_tokens"):
        _check_room(prompts, max_tokens, model)
    capture = None
    if request.capture is not None:
        capture = _capture(request, request.capture, prompts, own_id, model)
    shortest = min(len(prompt.tokens) for prompt in prompts)
    reach = shortest + max_tokens - 1 if max_tokens else 0
    patches = resolve(request.patch or [], request.patch_vectors, backend, modules, reach)
    options = request.stream_options
    return Asked(
        own_id, model, tuple(prompts), n, _sampling(request, max_tokens), shown, patches, capture,
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
    return [_prompt(prompt, backend, bool(request.echo)) for prompt in each]


def _prompt(prompt: object, backend: Backend, echo: bool) -> Prompt:
    if isinstance(prompt, str):
        return Prompt(tuple(backend.tokenize(prompt)), prompt if echo else "")
    assert isinstance(prompt, list)
    vocabulary = backend.describe().vocabulary
    for token in prompt:
        if not 0 <= token < vocabulary:
            raise BadRequest(f"token id {token} is outside the vocabulary [0, {vocabulary})")
    return Prompt(tuple(prompt), backend.detokenize(prompt) if echo else "")


def _check_prompts(prompts: list[Prompt], model: ModelDescription) -> None:
    for prompt in prompts:
        count = len(prompt.tokens)
        if not count:
            raise BadRequest("the prompt has no tokens; give it some text")
        if count > model.max_tokens:
            raise BadRequest(
                f"the prompt has {count} tokens; {model.name} takes at most {model.max_tokens}"
            )


def _check_room(prompts: list[Prompt], max_tokens: int, model: ModelDescription) -> None:
    longest = max(len(prompt.tokens) for prompt in prompts)
    if longest + max_tokens > model.max_tokens:
        raise BadRequest(
            f"the prompt has {longest} tokens and max_tokens is {max_tokens}; {model.name} takes "
            f"at most {model.max_tokens} together: ask for {model.max_tokens - longest} or fewer"
        )


def _sampling(request: Asking, max_tokens: int) -> Sampling:
    stops = [request.stop] if isinstance(request.stop, str) else request.stop or []
    with blaming("stop"):
        if "" in stops:
            raise BadRequest("a stop string is empty; it would end every text at once")
        if len(stops) > MOST_STOPS:
            raise BadRequest(f"{len(stops)} stop strings; at most {MOST_STOPS} are admitted")
    temperature = 1.0 if request.temperature is None else request.temperature
    top_p = 1.0 if request.top_p is None else request.top_p
    seed = secrets.randbits(62) if request.seed is None else request.seed
    return Sampling(max_tokens, temperature, top_p, seed, tuple(stops))


def _shown(request: Asking, wanted: bool, likeliest: int, model: ModelDescription) -> Shown:
    ids = request.logprob_token_ids or []
    with blaming("logprob_token_ids"):
        if len(ids) > MOST_TOKEN_IDS:
            raise BadRequest(f"{len(ids)} logprob_token_ids; at most {MOST_TOKEN_IDS} are admitted")
        if ids and not wanted:
            raise BadRequest("logprob_token_ids needs logprobs to be set")
        for token in ids:
            if not 0 <= token < model.vocabulary:
                raise BadRequest(
                    f"token id {token} is outside the vocabulary [0, {model.vocabulary})"
                )
    if ids:
        return Shown(wanted, 0, tuple(dict.fromkeys(ids)))
    return Shown(wanted, min(likeliest, model.vocabulary))


def _capture(
    request: Asking, capture: Capture, prompts: list[Prompt], own_id: str, model: ModelDescription
) -> CapturePlan:
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
