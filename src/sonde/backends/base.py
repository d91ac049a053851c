"""What a backend is: a loaded model that can be read from and written to.

The sweep is written once, above this protocol (`sonde.engine`). A backend knows nothing of grids,
metrics or prompts that differ; it captures, scores and generates.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sonde.schema import Hook, ModelDescription, Site, SourceRun

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class FromRun:
    """Take the activation from a captured run, at the patch's own hook and layer."""

    run: str
    positions: tuple[int, ...]
    """One position as a rule; of several, the mean is taken."""
    generation: int | None = None
    """The very run that is meant, when a newer one of that name must not be taken for it."""


@dataclass(frozen=True, eq=False)
class FromVector:
    """Take the activation from the caller: zeros, a row of a table, a named vector."""

    values: Vector


@dataclass(frozen=True, eq=False)
class Patch:
    """One write: `out = (1 - alpha*mask) * h + alpha*mask * source`, exact at alpha 1."""

    hook: Hook
    layer: int
    position: int
    source: FromRun | FromVector
    alpha: float = 1.0
    mask: Vector | None = None
    """Weight per dimension; None is one everywhere."""


@dataclass(frozen=True)
class Row:
    """One run of the prompt with its own patches; without patches, the baseline.

    `computed` asks for the long way even where the answer is known to be the baseline's: control
    rows prove nothing when they are answered by a shortcut.
    """

    patches: tuple[Patch, ...] = ()
    computed: bool = False


@dataclass(frozen=True)
class Scores:
    """Log-probabilities of some finished rows.

    `rows` are indices into the rows asked for; `logprobs` is [len(rows), len(token_ids)].
    `computed` counts the rows that needed work.
    """

    rows: tuple[int, ...]
    logprobs: NDArray[np.float64]
    computed: int


@dataclass(frozen=True)
class Cost:
    """What scoring some rows takes."""

    computed_rows: int
    token_layers: int
    working_bytes: int
    seconds: float
    chunks: int


@dataclass(frozen=True)
class GenerateRequest:
    """A completion of one prompt, with patches at prompt and generated positions."""

    tokens: tuple[int, ...]
    max_tokens: int = 16
    patches: tuple[Patch, ...] = ()
    temperature: float = 0.0
    """0 is greedy."""
    top_p: float = 1.0
    seed: int = 0
    stop_ids: frozenset[int] = frozenset()
    logprob_ids: tuple[int, ...] = ()
    """Ids whose log-probability is wanted at every step, whatever their rank."""
    top_logprobs: int = 0


@dataclass(frozen=True)
class GeneratedToken:
    """One generated token."""

    token: int
    logprob: float
    logprobs: dict[int, float]
    """Log-probabilities of the ids asked for, and of the `top_logprobs` likeliest."""


class Backend(Protocol):
    """A loaded model and its tokenizer."""

    def describe(self) -> ModelDescription:
        """What is loaded, and what it supports."""
        ...

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        """Token ids; `special` adds the tokens the tokenizer adds by default."""
        ...

    def detokenize(self, tokens: Sequence[int]) -> str:
        """Text of the ids; special tokens decode to nothing."""
        ...

    def render_chat(
        self, messages: Sequence[Mapping[str, str]], *, generation_prompt: bool = True
    ) -> list[int]:
        """Token ids of a conversation of `role` and `content`, by the model's chat template.

        With `generation_prompt` it ends where the assistant's answer begins. `BadRequest` when the
        model has no template.
        """
        ...

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Half-open character interval of each token; empty for special tokens."""
        ...

    def capture(
        self,
        run: str,
        tokens: Sequence[int],
        hooks: Sequence[Hook],
        layers: Sequence[int],
        positions: Sequence[int],
    ) -> SourceRun:
        """Run the prompt once and keep its activations under `run`, replacing that run whole."""
        ...

    def manifests(self) -> dict[str, SourceRun]:
        """The stored runs, by name."""
        ...

    def source_budget(self) -> int:
        """Bytes that all stored runs together may take."""
        ...

    def lease(self, run: str, holder: str) -> bool:
        """Protect a run from eviction for the store's TTL; False when there is no such run."""
        ...

    def release(self, run: str, holder: str) -> bool:
        """Give that holder's lease back."""
        ...

    def drop(self, run: str, generation: int | None = None) -> bool:
        """Forget a run, leased or not; False when there is no such run.

        With a generation, only that very run is meant, not a newer one of the same name, and it
        goes as soon as nobody leases it: a sweep that drops what it captured ends no other sweep.
        """
        ...

    def baselines(
        self, prompts: Sequence[Sequence[int]], token_ids: Sequence[int], hooks: Sequence[Hook]
    ) -> list[list[float]]:
        """Log-probabilities of the ids after each unpatched prompt, as `score` gives them.

        A backend may run the prompts in one pass, and keep what it needs to capture or patch them
        at `hooks` next.
        """
        ...

    def score(
        self, tokens: Sequence[int], rows: Sequence[Row], token_ids: Sequence[int]
    ) -> Iterator[Scores]:
        """Log-probabilities of `token_ids` after the last token, one row per patch set.

        Rows come back in any order, in chunks; closing the iterator stops the work. A patch whose
        site was not reached raises `HookNeverFired`.
        """
        ...

    def cost(self, tokens: Sequence[int], sites: Sequence[Site]) -> Cost:
        """What scoring one patch at each of `sites` would take, without doing it."""
        ...

    def generate(self, request: GenerateRequest) -> Iterator[GeneratedToken]:
        """Tokens as they come; closing the iterator stops. Unreached patches raise at the end."""
        ...
