"""A completion on the wire: OpenAI's fields, and Sonde's for patches, captures and graded tokens.

Every field OpenAI documents is here. Those whose effect cannot be given are refused by name when
they would have one (`sonde.server.completion.fields`); a field that is ignored looks like one that
had no effect.
"""

from typing import Literal

from pydantic import Field, FiniteFloat

from sonde.schema.base import Whole, Wire
from sonde.schema.source_run import RunName
from sonde.schema.sweep import Mask, PatchVectors

FinishReason = Literal["stop", "length"]
"""`stop`: an end token or a stop string. `length`: as many tokens as were asked for."""


class CompletionPatch(Wire):
    """One write: `out = (1 - alpha*mask) * h + alpha*mask * source`, at one site.

    It has exactly one source: `source_run` with `source_position`, `source_module`, or
    `source_inline`.
    """

    layer: Whole
    hook: str
    dest_position: Whole
    """Over the prompt's tokens, then the generated ones."""
    alpha: FiniteFloat = 1.0
    source_run: str | None = None
    source_position: Whole | None = None
    source_module: str | None = None
    """A registered name, or `zeros`."""
    source_inline: Whole | None = None
    """Row of the request's `patch_vectors`."""
    mask: Mask | None = None


class CaptureSource(Wire):
    """Keep activations of this prompt as a source run.

    Hooks that ask for different layers are all kept at every layer that one of them asks for.
    """

    run: RunName | None = None
    """Name of the run; without one, the completion's own id."""
    hooks: dict[str, Literal["all"] | list[Whole]]
    positions: str | list[Whole] = "all_prompt"
    """`all_prompt`, `last_prompt`, or positions of the prompt."""


class Capture(Wire):
    """What to keep of this completion, by consumer. There is one consumer."""

    patch_source: CaptureSource


class StreamOptions(Wire):
    """How a stream is sent."""

    include_usage: bool = False
    """A last chunk, without choices, that counts the tokens."""
    include_obfuscation: bool | None = None
    """Accepted; chunks are never padded."""


class Asking(Wire):
    """What completions and chat completions have in common."""

    model: str | None = None
    """The loaded model when left out; any other is a 404."""
    temperature: FiniteFloat | None = Field(default=None, ge=0)
    """1 when left out; 0 is greedy."""
    top_p: FiniteFloat | None = Field(default=None, gt=0, le=1)
    n: Whole | None = Field(default=None, ge=1, le=128)
    """Choices for each prompt; one when left out."""
    seed: Whole | None = Field(default=None, ge=-(2**63), lt=2**63)
    """Makes sampling repeatable; drawn at random when left out."""
    stop: str | list[str] | None = None
    """Text that ends a choice, and is not part of it."""
    stop_token_ids: list[Whole] | None = None
    """Tokens that end a choice, besides the model's own end tokens; not part of its text."""
    include_stop_str_in_output: bool | None = None
    """Keep what ended a choice, string or token, as part of its text."""
    ignore_eos: bool | None = None
    """Go on after the model's end tokens."""
    max_tokens: Whole | None = Field(default=None, ge=0)
    min_tokens: Whole | None = Field(default=None, ge=0)
    """Nothing ends a choice before it has so many tokens."""
    top_k: Whole | None = Field(default=None, ge=-1)
    """Draw among so many of the likeliest tokens; 0 and -1 are all."""
    min_p: FiniteFloat | None = Field(default=None, ge=0, le=1)
    """Do not draw tokens less probable than this share of the likeliest one."""
    repetition_penalty: FiniteFloat | None = Field(default=None, ge=0.001, le=1000)
    """On all tokens of the prompt and of the choice so far; 1 when left out."""
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    presence_penalty: FiniteFloat | None = None
    frequency_penalty: FiniteFloat | None = None
    logit_bias: dict[str, FiniteFloat] | None = None
    user: str | None = None

    patch: list[CompletionPatch] | None = None
    """Writes to make while the model runs."""
    patch_vectors: PatchVectors | None = None
    """Vectors that patches and masks refer to by row."""
    capture: Capture | None = None
    capture_wait: bool | None = None
    """Accepted; what is captured is always stored before the answer is sent."""
    prompt_logprobs: Whole | None = Field(default=None, ge=0, le=128)
    """How many of the likeliest tokens to show for each token of the prompt, beside that token."""
    logprob_token_ids: list[Whole] | None = None
    """Up to 128 tokens whose log-probabilities are wanted instead of the likeliest ones."""


class CompletionRequest(Asking):
    """Continue one prompt, or several."""

    prompt: str | list[str] | list[Whole] | list[list[Whole]]
    """Text, or token ids; or a list of either."""
    logprobs: Whole | None = Field(default=None, ge=0, le=128)
    """How many of the likeliest tokens to show for each generated one; with `echo`, each of all."""
    echo: bool | None = None
    """Put the prompt before what is generated, with its log-probabilities if there are `logprobs`.

    With `max_tokens` 0 there is nothing else.
    """
    best_of: Whole | None = None
    suffix: str | None = None


class Usage(Wire):
    """Tokens, counted."""

    prompt_tokens: int
    """Each prompt once, however many choices there are."""
    completion_tokens: int
    """Every token that was generated; end tokens and stop strings count."""
    total_tokens: int


class Logprobs(Wire):
    """Log-probabilities of the generated tokens, with `echo` after the prompt's; one entry a token.

    A token is written as its text, leading space included. One that has no text of its own (an end
    token, a part of a character), or the same text as a likelier one, is `token_id:<id>`.
    """

    tokens: list[str]
    token_logprobs: list[float | None]
    """At least -9999; null for a prompt's first token, which comes after nothing."""
    top_logprobs: list[dict[str, float] | None]
    """The token itself, and the likeliest ones or the ones asked for, likeliest first."""
    text_offset: list[int]
    """Where each token begins in the choice's text."""


class PromptLogprob(Wire):
    """A token at a position of the prompt."""

    logprob: float
    """At least -9999."""
    rank: int
    """1 is the likeliest."""
    decoded_token: str | None
    """Its text, leading space included; null when it has none of its own."""


PromptLogprobs = list[dict[str, PromptLogprob] | None]
"""For each token of the prompt, by token id: that token and the likeliest; null for the first."""


class CompletionChoice(Wire):
    """One continuation of one prompt."""

    index: int
    """Prompt by prompt, `n` for each."""
    text: str
    logprobs: Logprobs | None
    finish_reason: FinishReason | None
    """Null in a stream, until the choice has ended."""
    stop_reason: str | int | None = None
    """The stop string, or the id of `stop_token_ids`, that ended it; null for anything else."""
    prompt_logprobs: PromptLogprobs | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    """For each token of the prompt, by token id: that token and the likeliest; null for the first.

    Where asked for; in a stream, with the first chunk of a choice.
    """


class CaptureResult(Wire):
    """How a capture went."""

    status: Literal["ok", "not_requested"]
    error: str | None = None
    payload: dict[str, str | int] = {}
    """Of a capture that was made: `run`, `generation`, `n_tokens` and `bytes`."""


class Completion(Wire):
    """The answer; in a stream, a part of it."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    """Seconds since 1970."""
    model: str
    system_fingerprint: str
    """Fingerprint of the weights."""
    choices: list[CompletionChoice]
    usage: Usage | None = Field(default=None, exclude_if=lambda value: value is None)
    """In a stream that asks for it, in the last chunk."""
    capture_results: dict[str, CaptureResult] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
