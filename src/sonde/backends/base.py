"""What a backend is: a loaded model that can be read from and written to.

The sweep is written once, above this protocol (`sonde.engine`). A backend knows nothing of grids,
metrics or prompts that differ; it captures, reads, scores and generates. What it is asked is always
the same: *rows*, each a prompt with its own writes, and a *readout*, what to tell of each.

Three small faces: `Text` (tokens), `Runs` (stored activations), `Compute` (everything that runs the
model). A backend is all three.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sonde.backends.edit import Edit, Sampled
from sonde.backends.generated import GeneratedToken as GeneratedToken
from sonde.backends.generated import PromptToken as PromptToken
from sonde.schema import Hook, ModelDescription, SourceRun

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Site:
    """Where an activation is read or written: one position, or several at once."""

    hook: Hook
    layer: int
    positions: tuple[int, ...]
    head: int | None = None
    """At hooks that have a value for each head: which one."""
    readers: tuple[int, ...] | None = None
    """At keys and values: the query heads that see what is written; None: all that read it."""


@dataclass(frozen=True)
class FromRun:
    """Take the activation from a captured run: at the write's own site, or at any other."""

    run: str
    positions: tuple[int, ...]
    """One for each position that is written."""
    generation: int | None = None
    """The very run that is meant, when a newer one of that name must not be taken for it."""
    hook: Hook | None = None
    """Another hook, layer or head of the run than the write's own."""
    layer: int | None = None
    head: int | None = None


@dataclass(frozen=True, eq=False)
class FromVector:
    """Take the activation from the caller: zeros, a row of a table, a named vector."""

    values: Vector
    """[width], the same at every position; or [positions, width]."""


@dataclass(frozen=True, eq=False)
class Minus:
    """The difference of two sources, in float32."""

    left: "Source"
    right: "Source"


@dataclass(frozen=True, eq=False)
class MeanOf:
    """The mean of several sources, in float32."""

    sources: tuple["Source", ...]


@dataclass(frozen=True, eq=False)
class FromSenders:
    """What the site would have if the stream that it reads held what earlier writes change in it.

    The writes are at `z`, at `mlp_out` or at what enters the first layer, and their site comes
    after them. Between them and the site everything is as it is unpatched: all attention, and the
    MLPs too, unless `mlps` are computed anew. The site's own norm and projection always are. It is
    `q`, `k`, `v`, `mlp_out`, or the stream that leaves the last layer.
    """

    writes: "tuple[Write, ...]"
    mlps: bool = False


Source = FromRun | FromVector | Minus | MeanOf | FromSenders


@dataclass(frozen=True, eq=False)
class Write:
    """One write at a site: `set` to a source, or `add` it to what is there.

    set: `out = (1 - alpha*mask) * h + alpha*mask * source`, exact at alpha 1
    add: `out = h + alpha*mask * source`
    """

    site: Site
    source: Source
    alpha: float = 1.0
    mask: Vector | None = None
    """Weight per dimension; None is one everywhere."""
    how: Literal["set", "add"] = "set"


def write_at(
    hook: Hook,
    layer: int,
    position: int,
    source: Source,
    alpha: float = 1.0,
    mask: Vector | None = None,
) -> Write:
    """What nearly every cell is: one position set to a source."""
    return Write(Site(hook, layer, (position,)), source, alpha, mask)


@dataclass(frozen=True)
class Row:
    """One run of the prompt with its own writes; without writes, the baseline.

    `computed` asks for the computation even where the answer is known to be the baseline's: control
    rows prove nothing when they are answered by a shortcut.
    """

    writes: tuple[Write, ...] = ()
    computed: bool = False


Quantity = Literal["logit", "logprob", "kl", "rank"]
"""`logit` and `logprob` of a token · `rank`: how many tokens are likelier than it · `kl` of this
distribution from another prompt's unpatched one: Σ q (log q - log p) over the vocabulary, q that
other."""


@dataclass(frozen=True)
class Column:
    """One number that is told of a row."""

    quantity: Quantity
    token: int | None = None
    """None for `kl`, which is of no token."""
    position: int = -1
    """After which position: -1 is the last. Answers of several tokens are read at several."""
    against: tuple[int, ...] | None = None
    """For `kl`: the tokens of the prompt whose last distribution is compared with."""


@dataclass(frozen=True)
class Readout:
    """All that is told of a row, one number a column."""

    columns: tuple[Column, ...]


def logprobs_of(token_ids: Iterable[int]) -> Readout:
    """The log-probabilities of some tokens after the last position."""
    return Readout(tuple([Column("logprob", token) for token in token_ids]))


@dataclass(frozen=True)
class Work:
    """Runs of one prompt, and what to tell of each. Rows of several prompts may share a chunk."""

    tokens: Sequence[int]
    rows: Sequence[Row]
    readout: Readout


@dataclass(frozen=True)
class Scores:
    """What came out of some finished rows of one prompt.

    `rows` are indices into that prompt's rows; `values` is [len(rows), columns of its readout].
    `computed` counts the rows that needed work.
    """

    rows: tuple[int, ...]
    values: NDArray[np.float64]
    computed: int
    work: int = 0
    """Which of the prompts."""


@dataclass(frozen=True)
class Slope:
    """Runs of one prompt, answered to first order: by a gradient, and not by running the rows."""

    work: Work
    weights: tuple[tuple[float, ...], ...]
    """What is followed: sums of the readout's columns, each with a weight for every column."""
    toward: Sequence[int] | None = None
    """A prompt of the same length. The gradient is then the mean of those at `steps` points on the
    way from this prompt's embeddings to that one's: the first is this prompt itself."""
    steps: int = 1


@dataclass(frozen=True, eq=False)
class Mixture:
    """Circuits: along their edges receivers read what senders are in this very run."""

    outside: Sequence[int]
    """The prompt of whose own run senders are read along all other edges."""
    inside: Sequence[int]
    """The prompt that is run, of the same length."""
    edges: NDArray[np.bool_]
    """[circuits, edges], in the order of `sonde.nodes.Graph.edges`."""
    readout: Readout
    computed: frozenset[int] = frozenset()
    """Circuits that take nothing from the inside prompt's own run, known or not: controls."""


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
    """A completion of one prompt, with writes at prompt and generated positions."""

    tokens: tuple[int, ...]
    max_tokens: int = 16
    writes: tuple[Write, ...] = ()
    temperature: float = 0.0
    """0 is greedy."""
    top_p: float = 1.0
    seed: int = 0
    stop_ids: frozenset[int] = frozenset()
    logprob_ids: tuple[int, ...] = ()
    """Ids whose log-probability is wanted at every step, whatever their rank."""
    top_logprobs: int = 0
    top_k: int = 0
    """Only so many of the likeliest tokens are drawn from; 0 is all."""
    min_p: float = 0.0
    """Tokens less probable than this share of the likeliest one are not drawn."""
    min_tokens: int = 0
    """None of `stop_ids` is chosen before so many tokens are there."""
    repetition_penalty: float = 1.0
    """Divides the logits above zero, and multiplies those below, of all tokens so far."""
    prompt_logprobs: int | None = None
    """So many of the likeliest tokens at every position of the prompt, and its own; None: none."""


class Text(Protocol):
    """Text to tokens and back."""

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        """Token ids; `special` adds the tokens the tokenizer adds by default."""
        ...

    def detokenize(self, tokens: Sequence[int]) -> str:
        """Text of the ids; special tokens decode to nothing."""
        ...

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Half-open character interval of each token; empty for special tokens."""
        ...

    def render_chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        generation_prompt: bool = True,
        continue_final: bool = False,
    ) -> list[int]:
        """Token ids of a conversation of `role` and `content`, by the model's chat template.

        With `generation_prompt` it ends where the assistant's answer begins; with `continue_final`,
        where the last message's text ends. `BadRequest` when the model has no template.
        """
        ...


class Runs(Protocol):
    """Activations captured from prompts, and kept until somebody has used them."""

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

    def read(self, run: str, sites: Sequence[Site]) -> list[Vector]:
        """Activations of a stored run, one array [positions, width] a site, in float32."""
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


class Compute(Protocol):
    """What runs the model."""

    def describe(self) -> ModelDescription:
        """What is loaded, and what it supports."""
        ...

    def quantities(self) -> Sequence[Quantity]:
        """What it can tell of a row; a readout that asks for anything else is refused."""
        ...

    def baselines(
        self, asked: Sequence[tuple[Sequence[int], Readout]], hooks: Sequence[Hook]
    ) -> list[list[float]]:
        """The readout of each unpatched prompt, as `score` gives it.

        A backend may run the prompts in one pass, and keep what it needs to capture or patch them
        at `hooks` next.
        """
        ...

    def score(self, work: Iterable[Work]) -> Iterator[Scores]:
        """The readout of every row of every prompt.

        Rows come back in any order, in chunks; closing the iterator stops the work. A write whose
        site was not reached raises `HookNeverFired`.
        """
        ...

    def linearise(self, asked: Iterable[Slope]) -> Iterator[Scores]:
        """How far every row moves each of its sums, to first order: [rows, sums].

        A row moves them by its writes' changes times the gradient there, added up. `BadRequest` by
        a backend that has no gradients.
        """
        ...

    def mix(self, asked: Iterable[Mixture]) -> Iterator[Scores]:
        """The readout of every circuit; `BadRequest` where receivers cannot be told apart."""
        ...

    def cost(self, work: Iterable[Work]) -> Cost:
        """What scoring would take, without doing it. Sources are not looked at."""
        ...

    def generate(self, request: GenerateRequest) -> Iterator[GeneratedToken]:
        """Tokens as they come; closing the iterator stops. Unreached writes raise at the end."""
        ...

    def sample(
        self, asked: Sequence[GenerateRequest], edit: Edit | None = None
    ) -> Iterator[list[Sampled]]:
        """Many completions side by side, each with the tokens that `generate` gives it alone.

        After every pass come those that have just ended, often none; closing the iterator stops.
        Tokens are all that is told. With an `edit`, all of them have it. `BadRequest` by a backend
        that cannot change activations by what they are.
        """
        ...


class Backend(Text, Runs, Compute, Protocol):
    """A loaded model and its tokenizer: all three faces."""
