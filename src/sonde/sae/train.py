"""Train autoencoders or transcoders of several layers side by side, on one stream of activations.

Work goes in rounds. A round takes the next contexts in a random order, reads the activations of all
layers in one pass (`buffer`), shuffles them and learns from each once, a batch at a time. Nothing
is carried from one round to the next but the trainees, and everything random follows from the seed
and the number of the round: so a run that was stopped goes on, from its last whole round, with the
bits it would have had.

Where all of the text fits into the buffer, activations are read once and kept: every round is then
another order of the same. On a GPU they are kept in half precision.

It learns in one process on one device.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader
from sonde.errors import BadRequest
from sonde.sae import training_state
from sonde.sae.buffer import Pair, gather
from sonde.sae.corpus import Contexts
from sonde.sae.sparsity import Kind
from sonde.sae.trainee import Scaling, Shape, Trainee, centre_and_scale, rescued
from sonde.schema import Hook

WARM_UP: Final = 0.02
"""Share of the tokens over which the learning rate rises."""
DECAY: Final = 0.25
"""Share of the tokens, the last ones, over which it falls to 0."""


@dataclass(frozen=True)
class Recipe:
    """How an autoencoder is trained.

    Recipe(k=64, tokens=80_000_000)                       # one H200, a few minutes
    Recipe(d_sae=512, k=16, tokens=300_000, buffer=65536)  # a CPU, a first look
    """

    d_sae: int = 4096
    k: int = 64
    tokens: int = 20_000_000
    """How many activations to learn from, those met again counted again."""
    batch: int = 4096
    learning_rate: float = 5e-4
    buffer: int = 262_144
    """Tokens in a round."""
    seed: int = 0
    kind: Kind = "topk"
    nested: tuple[int, ...] = ()
    """Prefixes of the features that must rebuild by themselves: a Matryoshka."""
    cap: float | None = None
    """On what share of tokens a feature may be active, with batchtopk."""

    def check(self, width: int) -> None:
        """Refuse what cannot be trained."""
        for name in ("d_sae", "k", "tokens", "batch", "learning_rate", "buffer"):
            if not (value := getattr(self, name)) > 0:
                raise BadRequest(f"{name} is {value}; expected more than 0")
        if list(self.nested) != sorted({n for n in self.nested if 0 < n < self.d_sae}):
            raise BadRequest(
                f"nested is {list(self.nested)}; expected rising numbers of features below "
                f"{self.d_sae}, which is the last of them anyway"
            )
        if self.cap is not None and (self.kind != "batchtopk" or not 0 < self.cap < 1):
            raise BadRequest(
                f"cap is {self.cap} with {self.kind}; expected a share between 0 and 1, with "
                "batchtopk, whose thresholds can keep it"
            )
        if self.k >= self.d_sae:
            raise BadRequest(f"k is {self.k}, and there are only {self.d_sae} features")
        if self.k > width:
            raise BadRequest(
                f"k is {self.k}, more than the {width} dimensions there are to explain"
            )
        if self.buffer < self.batch:
            raise BadRequest(f"buffer is {self.buffer} tokens, less than a batch of {self.batch}")

    def rate_at(self, seen: int) -> float:
        """The learning rate after so many tokens."""
        done = seen / self.tokens
        rising = min(1.0, done / WARM_UP + 1e-3)
        falling = min(1.0, (1 - done) / DECAY)
        return self.learning_rate * max(0.0, min(rising, falling))

    @property
    def silent_after(self) -> int:
        """Tokens without activity after which a feature is dead: a fiftieth, a million at most."""
        return min(1_000_000, max(self.tokens // 50, 4 * self.batch))


@dataclass(frozen=True)
class LayerProgress:
    """How one layer's autoencoder does, over the tokens since the last report."""

    fvu: float
    l0: float
    dead: float
    dense: int = 0
    """Features active on more than a tenth of tokens."""


@dataclass(frozen=True)
class Progress:
    """How far training is."""

    tokens: int
    total: int
    tokens_per_second: float
    layers: dict[int, LayerProgress]

    @property
    def seconds_left(self) -> float:
        """At this speed."""
        return (self.total - self.tokens) / self.tokens_per_second


Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Sites:
    """Which activations are learned."""

    hook: Hook
    layers: tuple[int, ...]
    hook_out: Hook | None = None
    """What a transcoder predicts."""


def train(
    reader: Reader,
    contexts: Contexts,
    sites: Sites,
    recipe: Recipe,
    *,
    state: Path | None = None,
    save_every: float = 60.0,
    report: Report = lambda _progress: None,
    report_every: float = 5.0,
) -> dict[int, Trainee]:
    """Trainees of all layers, trained to the end.

    With a `state` directory, progress is kept there every `save_every` seconds, at the end of a
    round, and a run that finds progress of the same recipe there goes on from it.
    """
    recipe.check(reader.model.config.get_text_config().hidden_size)
    if contexts.n_tokens < recipe.batch:
        raise BadRequest(
            f"{contexts.n_tokens} tokens of text are less than a batch of {recipe.batch}; "
            "give more text or a smaller batch"
        )
    said = {"recipe": asdict(recipe), "site": asdict(sites), "tokens": contexts.n_tokens}
    run = _Run(reader, contexts, sites, recipe, report, report_every)
    if state is not None and (saved := training_state.load(state, said, reader.device)):
        run.resume(saved)
    saved_at = time.monotonic()
    with fast_products(), torch.enable_grad():
        while run.seen < recipe.tokens:
            run.round()
            if state is not None and time.monotonic() - saved_at >= save_every:
                layers = {layer: trainee.state() for layer, trainee in run.trainees.items()}
                training_state.save(state, said, run.rounds, run.seen, layers)
                saved_at = time.monotonic()
    return run.trainees


@contextmanager
def fast_products() -> Iterator[None]:
    """float32 products by TF32 units inside the block, on GPUs that have them."""
    before = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.fp32_precision = before


class _Run:
    """Training between two rounds."""

    def __init__(
        self,
        reader: Reader,
        contexts: Contexts,
        sites: Sites,
        recipe: Recipe,
        report: Report,
        report_every: float,
    ) -> None:
        self.reader, self.contexts, self.sites, self.recipe = reader, contexts, sites, recipe
        self.seen = self.rounds = 0
        self.trainees: dict[int, Trainee] = {}
        self._kept: dict[int, Pair] | None = None
        self._meter = _Meter(recipe.tokens, report, report_every)

    def resume(self, saved: training_state.Saved) -> None:
        """Go on after the last round that was saved."""
        self.rounds, self.seen = saved.rounds, saved.tokens
        for layer, state in saved.layers.items():
            self.trainees[layer] = self._trainee(layer, *rescued(state))
            self.trainees[layer].restore(state)

    def round(self) -> None:
        """Read the next contexts and learn from each of their activations once."""
        recipe = self.recipe
        read = self._read()
        for layer, (x, target) in read.items():
            if layer not in self.trainees:
                out = None if target is None else centre_and_scale(target)
                self.trainees[layer] = self._trainee(layer, centre_and_scale(x), out)
        n = min(len(x) for x, _ in read.values())
        generator = torch.Generator().manual_seed(_seed(recipe.seed, 1, self.rounds))
        order = torch.randperm(n, generator=generator).to(self.reader.device)
        for start in range(0, max(n - recipe.batch, 0) + 1, recipe.batch):
            if self.seen >= recipe.tokens:
                break
            chosen = order[start : start + recipe.batch]
            rate = recipe.rate_at(self.seen)
            for layer, trainee in self.trainees.items():
                x, target = read[layer]
                wanted = None if target is None else target[chosen]
                self._meter.add(layer, trainee.step(x[chosen], rate, wanted), len(chosen))
            self.seen += len(chosen)
            self._meter.report(self.seen, self.trainees)
        self.rounds += 1

    def _read(self) -> dict[int, Pair]:
        """A round's activations: new ones, or all there are."""
        if self._kept is not None:
            return self._kept
        whole = self.recipe.buffer >= self.contexts.n_tokens
        chosen = self.contexts if whole else self._next_contexts()
        read = gather(self.reader, chosen, self.sites.hook, self.sites.layers, self.sites.hook_out)
        if whole:
            self._kept = read
        return read

    def _next_contexts(self) -> Contexts:
        """This round's, in an order that is new in every pass over the text."""
        mean_length = self.contexts.n_tokens / len(self.contexts)
        n = min(len(self.contexts), max(1, math.ceil(self.recipe.buffer / mean_length)))
        per_pass = max(1, len(self.contexts) // n)
        which_pass, place = divmod(self.rounds, per_pass)
        generator = torch.Generator().manual_seed(_seed(self.recipe.seed, 0, which_pass))
        order = torch.randperm(len(self.contexts), generator=generator)
        return self.contexts.take(order[place * n : (place + 1) * n])

    def _trainee(self, layer: int, scaling: Scaling, out: Scaling | None) -> Trainee:
        recipe = self.recipe
        shape = Shape(
            recipe.d_sae, recipe.k, recipe.silent_after, recipe.kind, recipe.nested, recipe.cap
        )
        return Trainee(shape, scaling, seed=_seed(recipe.seed, 2, layer), out=out)


def _seed(seed: int, purpose: int, number: int) -> int:
    """One number for each thing that is drawn."""
    return (seed * 4 + purpose) * 1_000_003 + number


class _Meter:
    """Adds up what trainees say until it is time to report."""

    def __init__(self, total: int, report: Report, every: float) -> None:
        self._total, self._report, self._every = total, report, every
        self._sums: dict[int, Tensor] = {}
        self._tokens: dict[int, int] = {}
        self._spoke, self._at = time.monotonic(), 0
        self._began: tuple[float, int] | None = None

    def add(self, layer: int, sums: Tensor, n_tokens: int) -> None:
        """What one batch of a layer gave."""
        held = self._sums.get(layer)
        self._sums[layer] = sums if held is None else held + sums
        self._tokens[layer] = self._tokens.get(layer, 0) + n_tokens

    def report(self, seen: int, trainees: dict[int, Trainee]) -> None:
        """Speak, when the last report is old enough or this is the end."""
        now = time.monotonic()
        if self._began is None:
            self._began = (self._spoke, seen - max(self._tokens.values()))
        if now - self._spoke < self._every and seen < self._total:
            return
        layers = {}
        for layer, sums in self._sums.items():
            unexplained, variance, active = sums.tolist()
            trainee, l0 = trainees[layer], active / self._tokens[layer]
            layers[layer] = LayerProgress(unexplained / variance, l0, trainee.dead, trainee.dense)
        began, first = self._began
        speed = (seen - first) / max(now - began, 1e-9)
        self._report(Progress(seen, self._total, speed, layers))
        self._spoke, self._sums, self._tokens = now, {}, {}


def described(recipe: Recipe) -> dict[str, Any]:
    """The recipe in plain values, for a configuration or a card."""
    return {**asdict(recipe), "silent_after": recipe.silent_after}
