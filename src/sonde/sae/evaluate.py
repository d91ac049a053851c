"""How good an autoencoder is, on text it was not trained on.

Two kinds of numbers. How well activations are rebuilt: FVU, cosine, L0 and the share of dead
features. And what is lost to the model: its cross-entropy when it goes on with the reconstruction
instead of the activation, placed between going on undisturbed (1) and going on with zeros (0).

Zeros are the usual other end and a lenient one, since a model that loses a whole residual stream
says nothing at all. So the same share is given against the mean activation, too.

Several kinds of text are judged apart and together in one pass. The mean is that of the first few
thousand tokens, and of all kinds the same. Position 0 and other attention sinks are not read and
not replaced (see `buffer`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader, Splice
from sonde.errors import BadRequest, EngineError
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.buffer import counts, passes
from sonde.sae.corpus import Contexts
from sonde.sae.density import Density
from sonde.sae.health import Health, HealthMeter
from sonde.schema import HOOK_TABLE, LAYER_HOOKS, Hook

ROUNDING: Final = 1e-3
"""Cosine below which a reconstruction has nothing to do with what is rebuilt."""
WHOLE: Final = ""
"""The kind that stands for all of the text."""


@dataclass(frozen=True)
class CrossEntropy:
    """Mean cross-entropy of the next token in nats, by what the model went on with."""

    original: float
    spliced: float
    zeroed: float
    averaged: float

    @property
    def recovered(self) -> float | None:
        """Share of what zeros destroy that the reconstruction keeps."""
        return _recovered(self.original, self.spliced, self.zeroed)

    @property
    def recovered_from_mean(self) -> float | None:
        """The same against the mean activation: the stricter number."""
        return _recovered(self.original, self.spliced, self.averaged)


def _recovered(original: float, spliced: float, ablated: float) -> float | None:
    """None where ablating costs nothing, so that there is nothing to recover."""
    return (ablated - spliced) / (ablated - original) if ablated > original else None


@dataclass(frozen=True)
class Evaluation:
    """One autoencoder on one text."""

    health: Health
    loss: CrossEntropy
    density: Density | None = None
    """How often each feature is active."""
    shrinkage: float | None = None
    """The factor by which reconstructions are too long or too short, as seen from the mean: the
    one that would have to be divided by to fit best. Below 1 they have shrunk."""

    @property
    def dense(self) -> int:
        """How many features are dense: active on more than a tenth of the tokens."""
        return 0 if self.density is None else self.density.dense

    def plain(self) -> dict[str, Any]:
        """Plain values, for JSON and cards."""
        numbers = {
            **asdict(self.health),
            "dense": self.dense,
            "dense_share": None if self.density is None else self.density.dense_share,
            "shrinkage": self.shrinkage,
            **{f"ce_{k}": v for k, v in asdict(self.loss).items()},
        }
        shares = {
            "ce_recovered": self.loss.recovered,
            "ce_recovered_from_mean": self.loss.recovered_from_mean,
        }
        return {
            name: round(value, 6) if isinstance(value, float) else value
            for name, value in (numbers | shares).items()
        }


def evaluate(
    reader: Reader,
    autoencoders: Mapping[int, Autoencoder],
    contexts: Contexts,
    report: Callable[[str], None] = lambda _doing: None,
) -> dict[int, Evaluation]:
    """Each autoencoder, by its layer, on the same text."""
    found = evaluate_kinds(reader, [*autoencoders.items()], {WHOLE: contexts}, report)
    return {layer: each[WHOLE] for layer, each in zip(autoencoders, found, strict=True)}


def evaluate_kinds(
    reader: Reader,
    autoencoders: Sequence[tuple[int, Autoencoder]],
    kinds: Mapping[str, Contexts],
    report: Callable[[str], None] = lambda _doing: None,
) -> list[dict[str, Evaluation]]:
    """Each autoencoder, with its layer, on every kind of text and on the WHOLE of them."""
    for layer, autoencoder in autoencoders:
        check_fits(autoencoder, layer, reader)
    judged = [_Judged(layer, each) for layer, each in autoencoders]
    groups = [
        (kind, some) for kind, texts in kinds.items() for some in passes(texts, reader.device)
    ]
    means: dict[_Site, Tensor] = {}
    for n, (kind, some) in enumerate(groups):
        report(f"judging: part {n + 1} of {len(groups)}")
        counted = _counted(some)
        original = _sum(reader.cross_entropy(some.ids), counted)
        read = {
            hook: reader.activations(some.ids, hook, [j.layer for j in judged if hook in j.hooks])
            for hook in {hook for each in judged for hook in each.hooks}
        }
        ablated: dict[_Site, tuple[float, float]] = {}
        for each in judged:
            seen, wanted = (read[hook][each.layer] for hook in each.hooks)
            place = _Splicing(reader, each.site, some, wanted, counts(seen, some.lengths), counted)
            y = wanted[place.chosen]
            mean = means.setdefault(each.site, y.float().mean(0))
            rebuilt = each.rebuild(kind, seen[place.chosen], y, mean)
            if each.site not in ablated:
                ablated[each.site] = (
                    place.loss(torch.zeros_like(rebuilt)),
                    place.loss(mean.expand_as(rebuilt)),
                )
            losses = (original, place.loss(rebuilt), *ablated[each.site])
            each.lose(kind, losses, int(counted.sum()))
    return [each.evaluations() for each in judged]


_Site = tuple[Hook, Hook, int]
"""What is read, what is rebuilt, and of which layer."""


@dataclass(frozen=True, eq=False)
class _Splicing:
    """Some contexts, at one site, and which of their positions count."""

    reader: Reader
    site: _Site
    some: Contexts
    wanted: Tensor
    chosen: Tensor
    counted: Tensor

    def loss(self, rows: Tensor) -> float:
        """The summed loss when the model goes on with `rows` at the chosen positions."""

        def rewrite(activations: Tensor) -> Tensor:
            out = activations.clone()
            out[self.chosen] = rows.to(out.dtype)
            return out

        _, hook, layer = self.site
        known = self.wanted if HOOK_TABLE[hook].enters == 1 else None
        splice = Splice(hook, layer, rewrite)
        return _sum(self.reader.cross_entropy(self.some.ids, splice, known), self.counted)


@dataclass(eq=False)
class _Sums:
    """One autoencoder on one kind of text, as far as it has gone by."""

    meter: HealthMeter
    active: Tensor
    """On how many tokens each feature was active. [d_sae]"""
    losses: list[float] = field(default_factory=lambda: [0.0] * 4)
    n: int = 0
    lengths: list[float] = field(default_factory=lambda: [0.0] * 3)
    """From the mean: of reconstructions, squared, of what is rebuilt, and what both share."""

    def __add__(self, other: "_Sums") -> "_Sums":
        return _Sums(
            self.meter + other.meter,
            self.active + other.active,
            [a + b for a, b in zip(self.losses, other.losses, strict=True)],
            self.n + other.n,
            [a + b for a, b in zip(self.lengths, other.lengths, strict=True)],
        )

    def evaluation(self, layer: int) -> Evaluation:
        """What was found."""
        if self.n == 0:
            raise BadRequest("no context has three tokens; cross-entropy needs some text")
        losses = [loss / self.n for loss in self.losses]
        if not all(map(math.isfinite, losses)):
            raise EngineError(
                f"the model's cross-entropy with layer {layer} as it is, rebuilt, zeroed and "
                f"averaged is {losses}, not finite numbers; read it in float32"
            )
        health = self.meter.health()
        density = Density.of(self.active, health.tokens)
        made, wanted, common = self.lengths
        related = common > ROUNDING * math.sqrt(made * wanted)
        shrinkage = made / common if related else None
        return Evaluation(health, CrossEntropy(*losses), density, shrinkage)


class _Judged:
    """One autoencoder, while the text goes by."""

    def __init__(self, layer: int, autoencoder: Autoencoder) -> None:
        self.layer, self.hooks = layer, (hook_of(autoencoder), hook_out_of(autoencoder))
        self.site: _Site = (*self.hooks, layer)
        self._autoencoder = autoencoder
        self._kinds: dict[str, _Sums] = {}

    def rebuild(self, kind: str, x: Tensor, y: Tensor, mean: Tensor) -> Tensor:
        """Rebuild y from x [tokens, width], and note how well."""
        d_sae, device = self._autoencoder.d_sae, self._autoencoder.device
        fresh = _Sums(HealthMeter(d_sae), torch.zeros(d_sae, device=device))
        sums = self._kinds.setdefault(kind, fresh)
        active = self._autoencoder.encode(x)
        rebuilt = self._autoencoder.decode(active, x)
        sums.meter.add(y, rebuilt, active)
        sums.active.index_add_(0, active.indices, (active.values > 0).float())
        made = (rebuilt - mean).double()
        right = (y.float() - mean).double()
        both = torch.stack([made.square().sum(), right.square().sum(), (made * right).sum()])
        sums.lengths = [a + b for a, b in zip(sums.lengths, both.tolist(), strict=True)]
        return rebuilt

    def lose(self, kind: str, losses: Sequence[float], n: int) -> None:
        """Add to what the model lost over n predictions."""
        sums = self._kinds[kind]
        sums.losses = [a + b for a, b in zip(sums.losses, losses, strict=True)]
        sums.n += n

    def evaluations(self) -> dict[str, Evaluation]:
        """What was found, of all the text first."""
        first, *rest = self._kinds.values()
        whole = sum(rest, first)
        found = {WHOLE: whole.evaluation(self.layer)}
        return found | {kind: each.evaluation(self.layer) for kind, each in self._kinds.items()}


def _counted(some: Contexts) -> Tensor:
    """Which predictions count: of text, and not made at position 0, where nothing is replaced."""
    predicted = torch.arange(1, some.ids.shape[1])
    return (predicted > 1) & (predicted < some.lengths[:, None])


def _sum(loss: Tensor, counted: Tensor) -> float:
    return float(loss[counted.to(loss.device)].double().sum())


def check_fits(autoencoder: Autoencoder, layer: int, reader: Reader) -> None:
    """Refuse an autoencoder that cannot be spliced into this model."""
    width = reader.model.config.get_text_config().hidden_size
    if autoencoder.d_in != width or autoencoder.d_out != width:
        raise BadRequest(
            f"the autoencoder of layer {layer} reads {autoencoder.d_in} and writes "
            f"{autoencoder.d_out} dimensions, and the model has {width}: it belongs to another, "
            "which --model names"
        )


def hook_of(autoencoder: Autoencoder) -> Hook:
    """The hook it reads at, where Sonde has it."""
    for hook in LAYER_HOOKS:
        if autoencoder.hook == hook:
            return hook
    raise BadRequest(
        f"the autoencoder reads at {autoencoder.hook!r}, and dictionaries read at one of "
        f"{list(LAYER_HOOKS)}; say which with --hook"
    )


def hook_out_of(autoencoder: Autoencoder) -> Hook:
    """The hook whose activations it rebuilds: that it reads, unless it is a transcoder."""
    if autoencoder.hook_out is None:
        return hook_of(autoencoder)
    for hook in LAYER_HOOKS:
        if autoencoder.hook_out == hook:
            return hook
    raise BadRequest(
        f"the transcoder predicts {autoencoder.hook_out!r}, and one that is judged predicts one of "
        f"{list(LAYER_HOOKS)}"
    )
