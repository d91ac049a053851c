"""How good an autoencoder is, on text it was not trained on.

Two kinds of numbers. How well activations are rebuilt: FVU, cosine, L0 and the share of dead
features. And what is lost to the model: its cross-entropy when it goes on with the reconstruction
instead of the activation, placed between going on undisturbed (1) and going on with zeros (0).

Zeros are the usual other end and a lenient one, since a model that loses a whole residual stream
says nothing at all. So the same share is given against the mean activation, too.

The mean is that of the first few thousand tokens. Position 0 and other attention sinks are not read
and not replaced (see `buffer`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader, Splice
from sonde.errors import BadRequest, EngineError
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.buffer import counts, passes
from sonde.sae.corpus import Contexts
from sonde.sae.health import Health, HealthMeter
from sonde.schema import HOOKS, Hook


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

    def plain(self) -> dict[str, Any]:
        """Plain values, for JSON and cards."""
        numbers = {**asdict(self.health), **{f"ce_{k}": v for k, v in asdict(self.loss).items()}}
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
    for layer, autoencoder in autoencoders.items():
        check_fits(autoencoder, layer, reader)
    judged = [_Judged(reader, layer, each) for layer, each in autoencoders.items()]
    for n, some in enumerate(groups := list(passes(contexts, reader.device))):
        report(f"judging: part {n + 1} of {len(groups)}")
        counted = _counted(some)
        original = _sum(reader.cross_entropy(some.ids), counted)
        for hook in {each.hook for each in judged}:
            here = [each for each in judged if each.hook == hook]
            read = reader.activations(some.ids, hook, [each.layer for each in here])
            for each in here:
                each.add(some, read[each.layer], counted, original)
    return {each.layer: each.evaluation() for each in judged}


class _Judged:
    """One autoencoder, while the text goes by."""

    def __init__(self, reader: Reader, layer: int, autoencoder: Autoencoder) -> None:
        self.layer, self.hook = layer, hook_of(autoencoder)
        self._reader, self._autoencoder = reader, autoencoder
        self._meter = HealthMeter(autoencoder.d_sae)
        self._mean: Tensor | None = None
        self._losses, self._n = [0.0] * 4, 0

    def add(self, some: Contexts, read: Tensor, counted: Tensor, original: float) -> None:
        """Some contexts and their activations; which predictions count, and their loss."""
        chosen = counts(read, some.lengths)
        x = read[chosen]
        active = self._autoencoder.encode(x)
        rebuilt = self._autoencoder.decode(active, x)
        self._meter.add(x, rebuilt, active)
        if self._mean is None:
            self._mean = x.float().mean(0)
        ways = [rebuilt, torch.zeros_like(rebuilt), self._mean.expand_as(rebuilt)]
        spliced = [self._loss(some, read, chosen, way, counted) for way in ways]
        self._losses = [a + b for a, b in zip(self._losses, [original, *spliced], strict=True)]
        self._n += int(counted.sum())

    def _loss(
        self, some: Contexts, read: Tensor, chosen: Tensor, rows: Tensor, counted: Tensor
    ) -> float:
        """The summed loss when the model goes on with `rows` at the chosen positions."""

        def rewrite(activations: Tensor) -> Tensor:
            out = activations.clone()
            out[chosen] = rows.to(out.dtype)
            return out

        known = read if self.hook == "post_block" else None
        splice = Splice(self.hook, self.layer, rewrite)
        return _sum(self._reader.cross_entropy(some.ids, splice, known), counted)

    def evaluation(self) -> Evaluation:
        """What was found."""
        if self._n == 0:
            raise BadRequest("no context has three tokens; cross-entropy needs some text")
        losses = [loss / self._n for loss in self._losses]
        if not all(map(math.isfinite, losses)):
            raise EngineError(
                f"the model's cross-entropy with layer {self.layer} as it is, rebuilt, zeroed and "
                f"averaged is {losses}, not finite numbers; read it in float32"
            )
        return Evaluation(self._meter.health(), CrossEntropy(*losses))


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
    if autoencoder.is_transcoder:
        raise BadRequest(
            f"the autoencoder of layer {layer} is a transcoder from {autoencoder.hook} to "
            f"{autoencoder.hook_out}; only one that rebuilds what it reads can be spliced in"
        )


def hook_of(autoencoder: Autoencoder) -> Hook:
    """The hook it reads at, where Sonde has it."""
    for hook in HOOKS:
        if autoencoder.hook == hook:
            return hook
    raise BadRequest(
        f"the autoencoder reads at {autoencoder.hook!r}, and Sonde has the hooks {list(HOOKS)}; "
        "say which with --hook"
    )
