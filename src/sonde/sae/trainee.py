"""One autoencoder or transcoder while it is trained: weights, optimiser, what is silent.

It works on activations made comparable across layers, centred on their mean and divided by their
root mean square, and folds both back into the weights when it is done. A transcoder reads one site
and explains another; an autoencoder explains what it reads.

1. **Select**  the active features of each token (`sparsity`).
2. **Rebuild** the activation from those, and compare: the loss is the share of variance left. Of a
   Matryoshka (Bussmann et al., 2025) every prefix of the features must rebuild by itself, and their
   losses are added.
3. **Revive**  features that have long been silent: the likeliest of them are asked to explain what
   the others left over, which gives them a gradient (the auxiliary loss, AuxK).
4. **Step**    with Adam; decoder rows are kept at length 1, so that the loss cannot be cheated by
   small values and long rows.

Nothing is subtracted before encoding but the mean: the encoder's bias says as much. On a GPU
products have bfloat16 factors; the weights that are learned stay float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import torch
from torch import Tensor, nn

from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.density import DENSE
from sonde.sae.sparsity import ByBatch, ByThreshold, ByToken, Kind, Sparsity

AUX_WEIGHT: Final = 1 / 32
AUX_FEATURES: Final = 0.5
"""How many silent features are asked at a time, as a share of the width."""
CLIP: Final = 1.0
BETAS: Final = (0.9, 0.999)
RATE_STEP: Final = 0.02
"""How much of the running rate of activity is the newest batch's."""
PARAMETERS: Final = ("W_enc", "b_enc", "W_dec", "b_dec")


@dataclass(frozen=True)
class Shape:
    """What does not change while it is trained."""

    d_sae: int
    k: int
    silent_after: int
    """Tokens without activity after which a feature is dead."""
    kind: Kind = "topk"
    nested: tuple[int, ...] = ()
    """The prefixes of a Matryoshka, smaller than d_sae and rising."""
    cap: float | None = None
    """BatchTopK: on what share of tokens a feature may be active."""

    def sparsity(self, device: torch.device) -> Sparsity:
        """What chooses the active features."""
        match self.kind:
            case "topk":
                return ByToken(self.k)
            case "batchtopk":
                return ByBatch(self.k, self.d_sae, self.cap, device)
            case "jumprelu":
                return ByThreshold(self.k, self.d_sae, device)


@dataclass(frozen=True, eq=False)
class Scaling:
    """What makes activations comparable: their mean [width], and one number."""

    mean: Tensor
    scale: Tensor

    def apply(self, activations: Tensor) -> Tensor:
        """Centred, and of size 1."""
        return (activations.float() - self.mean) / self.scale


class Trainee:
    """An autoencoder in training, or a transcoder where `out` says what its output is like."""

    def __init__(
        self, shape: Shape, scaling: Scaling, *, seed: int, out: Scaling | None = None
    ) -> None:
        self.shape, self.scaling, self.out = shape, scaling, out
        device = scaling.mean.device
        generator = torch.Generator().manual_seed(seed)
        d_in, d_out = len(scaling.mean), len((out or scaling).mean)
        rows = _directions(shape.d_sae, d_out, generator)
        read = rows if out is None else _directions(shape.d_sae, d_in, generator)
        self.W_dec = nn.Parameter(rows.to(device))
        self.W_enc = nn.Parameter(read.T.contiguous().to(device))
        self.b_enc = nn.Parameter(torch.zeros(shape.d_sae, device=device))
        self.b_dec = nn.Parameter(torch.zeros(d_out, device=device))
        self.silent_for = torch.zeros(shape.d_sae, dtype=torch.int64, device=device)
        self.rate = torch.zeros(shape.d_sae, device=device)
        self.sparsity = shape.sparsity(device)
        fused = device.type == "cuda"
        self._adam = torch.optim.Adam(self.parameters(), lr=0.0, betas=BETAS, fused=fused)
        edges = (0, *shape.nested, shape.d_sae)
        self._groups = [slice(*edge) for edge in pairwise(edges)]

    def _named(self) -> dict[str, nn.Parameter]:
        return {name: getattr(self, name) for name in PARAMETERS} | self.sparsity.learned()

    def _running(self) -> dict[str, Tensor]:
        own = {"silent_for": self.silent_for, "rate": self.rate}
        return own | self.sparsity.running()

    def parameters(self) -> list[nn.Parameter]:
        """What is learned."""
        return list(self._named().values())

    @property
    def dead(self) -> float:
        """Share of features that have been silent for too long."""
        return float((self.silent_for >= self.shape.silent_after).float().mean())

    @property
    def dense(self) -> int:
        """How many are a dense feature: active on more than a tenth of tokens, as of late."""
        return int((self.rate > DENSE).sum())

    def step(self, x: Tensor, learning_rate: float, target: Tensor | None = None) -> Tensor:
        """Learn from activations [tokens, width], and what follows. -> sums over the tokens, [3]

        They are what is unexplained, the variance, and active features, still on the device.
        `target` [tokens, d_out] is what a transcoder should have said.
        """
        y = self.scaling.apply(x)
        wanted = y if self.out is None or target is None else self.out.apply(target)
        with torch.autocast(x.device.type, torch.bfloat16, enabled=x.device.type == "cuda"):
            pre = torch.addmm(self.b_enc, y, self.W_enc)
            features = self.sparsity.features(pre)
            rests = self._rests(features, wanted)
            missed = [rest.square().sum() for rest in rests]
            variance = (wanted - wanted.mean(0)).square().sum()
            active = self._hear(features)
            loss = torch.stack(missed).sum() / variance
            loss = loss + AUX_WEIGHT * self._revive(pre, rests[-1].detach())
            if (penalty := self.sparsity.penalty(pre)) is not None:
                loss = loss + penalty
        self._adam.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._update(learning_rate)
        return torch.stack([missed[-1], variance, active]).detach()

    def _rests(self, features: Tensor, wanted: Tensor) -> list[Tensor]:
        """What every prefix of the features leaves unexplained, the whole last."""
        rest, rests = wanted - self.b_dec, []
        for group in self._groups:
            rest = rest - (features[:, group] @ self.W_dec[group]).float()
            rests.append(rest)
        return rests

    @torch.no_grad()
    def _hear(self, features: Tensor) -> Tensor:
        """Note which features were active [tokens, d_sae]. -> how many, over all tokens"""
        active = (features > 0).sum(0)
        self.silent_for += len(features)
        self.silent_for.masked_fill_(active > 0, 0)
        self.rate.lerp_(active / len(features), RATE_STEP)
        self.sparsity.hear(active, len(features))
        return active.sum()

    def _revive(self, pre: Tensor, rest: Tensor) -> Tensor:
        """How badly silent features explain what is left; 0 where none is silent."""
        silent = (self.silent_for >= self.shape.silent_after).nonzero()[:, 0]
        asked = int(AUX_FEATURES * rest.shape[1])
        if not len(silent):
            return rest.new_zeros(())
        own = pre[:, silent]
        values, indices = own.topk(min(asked, len(silent)), dim=1)
        features = torch.zeros_like(own).scatter(1, indices, values.relu())
        missed = (rest - features @ self.W_dec[silent]).square().sum() / rest.square().sum()
        return missed * min(1.0, len(silent) / asked)

    @torch.no_grad()
    def _update(self, learning_rate: float) -> None:
        gradient = self.W_dec.grad
        assert gradient is not None
        gradient -= (gradient * self.W_dec).sum(1, keepdim=True) * self.W_dec
        nn.utils.clip_grad_norm_(self.parameters(), CLIP)
        for group in self._adam.param_groups:
            group["lr"] = learning_rate
        self._adam.step()
        self.W_dec.div_(self.W_dec.norm(dim=1, keepdim=True))

    def state(self) -> dict[str, Tensor]:
        """Everything that training goes on from, by name."""
        named = self._named()
        tensors = {name: parameter.detach() for name, parameter in named.items()}
        tensors |= self._running()
        tensors |= {"mean": self.scaling.mean, "scale": self.scaling.scale}
        if self.out is not None:
            tensors |= {"out_mean": self.out.mean, "out_scale": self.out.scale}
        for name, parameter in named.items():
            for moment, value in self._adam.state.get(parameter, {}).items():
                tensors[f"adam.{name}.{moment}"] = value
        return tensors

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a saved state."""
        named = self._named()
        held = {**named, **self._running()}
        with torch.no_grad():
            for name, tensor in held.items():
                tensor.copy_(state[name])
        for name, parameter in named.items():
            prefix = f"adam.{name}."
            saved = {key.removeprefix(prefix): v for key, v in state.items() if prefix in key}
            self._adam.state[parameter] = {key: v.clone() for key, v in saved.items()}

    @torch.no_grad()
    def finished(
        self, hook: str, layer: int, origin: Origin, hook_out: str | None = None
    ) -> Autoencoder:
        """The same for activations as they are, with centre and scale folded in.

        An autoencoder subtracts its decoder's bias first, which is near the mean: then numbers stay
        small, and rounding the encoder moves no feature by what the mean is multiplied with.
        """
        ratio = 1.0 if self.out is None else self.out.scale / self.scaling.scale
        target = self.out or self.scaling
        W_enc = self.W_enc.detach() * ratio
        b_dec = target.mean + self.b_dec.detach() * target.scale
        shift = b_dec - self.scaling.mean if self.out is None else -self.scaling.mean
        return Autoencoder(
            W_enc=W_enc,
            b_enc=self.b_enc.detach() * target.scale + shift @ W_enc,
            W_dec=self.W_dec.detach().clone(),
            b_dec=b_dec,
            activation=self.sparsity.activation(target.scale),
            subtract_b_dec=self.out is None,
            hook=hook,
            hook_out=hook_out,
            layer=layer,
            origin=origin,
        )


def rescued(state: Mapping[str, Tensor]) -> tuple[Scaling, Scaling | None]:
    """What a saved trainee read, and what it predicted where that was something else."""
    scaling = Scaling(state["mean"], state["scale"])
    if "out_mean" not in state:
        return scaling, None
    return scaling, replace(scaling, mean=state["out_mean"], scale=state["out_scale"])


def centre_and_scale(activations: Tensor) -> Scaling:
    """Mean [width] and root mean square around it (one number) of activations [tokens, width]."""
    parts = torch.split(activations, 65536)
    total = torch.stack([part.double().sum(0) for part in parts]).sum(0)
    mean = (total / len(activations)).float()
    squares = torch.stack([(part.float() - mean).square().sum() for part in parts])
    return Scaling(mean, (squares.sum() / activations.numel()).sqrt())


def _directions(n: int, width: int, generator: torch.Generator) -> Tensor:
    """Random rows of length 1."""
    rows = torch.randn(n, width, generator=generator)
    lengths: Tensor = rows.norm(dim=1, keepdim=True)
    return rows / lengths
