"""One TopK autoencoder while it is trained: weights, optimiser, and which features are silent.

It works on activations made comparable across layers, centred on their mean and divided by their
root mean square, and folds both back into the weights when it is done.

1. **Select**  the k largest pre-activations of each token, negative ones counting as 0.
2. **Rebuild** the activation from those, and compare: the loss is the share of variance left.
3. **Revive**  features that have long been silent: the likeliest of them are asked to explain what
   the others left over, which gives them a gradient (the auxiliary loss, AuxK).
4. **Step**    with Adam; decoder rows are kept at length 1, so that the loss cannot be cheated by
   small values and long rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor, nn

from sonde.sae.activations import TopK
from sonde.sae.autoencoder import Autoencoder, Origin

AUX_WEIGHT: Final = 1 / 32
AUX_FEATURES: Final = 0.5
"""How many silent features are asked at a time, as a share of the width."""
CLIP: Final = 1.0
BETAS: Final = (0.9, 0.999)
PARAMETERS: Final = ("W_enc", "b_enc", "W_dec", "b_dec")


@dataclass(frozen=True)
class Shape:
    """What does not change while it is trained."""

    d_sae: int
    k: int
    silent_after: int
    """Tokens without activity after which a feature is dead."""


class Trainee:
    """An autoencoder in training."""

    def __init__(self, shape: Shape, mean: Tensor, scale: Tensor, *, seed: int) -> None:
        """`mean` [width] and `scale` (one number) are those of the activations to come."""
        self.shape, self.mean, self.scale = shape, mean, scale
        width, device = len(mean), mean.device
        generator = torch.Generator().manual_seed(seed)
        rows = torch.randn(shape.d_sae, width, generator=generator)
        rows = (rows / rows.norm(dim=1, keepdim=True)).to(device)
        self.W_dec = nn.Parameter(rows)
        self.W_enc = nn.Parameter(rows.T.clone())
        self.b_enc = nn.Parameter(torch.zeros(shape.d_sae, device=device))
        self.b_dec = nn.Parameter(torch.zeros(width, device=device))
        self.silent_for = torch.zeros(shape.d_sae, dtype=torch.int64, device=device)
        fused = device.type == "cuda"
        self._adam = torch.optim.Adam(self.parameters(), lr=0.0, betas=BETAS, fused=fused)

    def parameters(self) -> list[nn.Parameter]:
        """What is learned."""
        return [getattr(self, name) for name in PARAMETERS]

    @property
    def dead(self) -> float:
        """Share of features that have been silent for too long."""
        return float((self.silent_for >= self.shape.silent_after).float().mean())

    def step(self, x: Tensor, learning_rate: float) -> Tensor:
        """Learn from activations [tokens, width]. -> unexplained, variance and active features

        All three are sums over the tokens, [3], still on the device.
        """
        y = (x.float() - self.mean) / self.scale
        pre = (y - self.b_dec) @ self.W_enc + self.b_enc
        values, indices = pre.topk(self.shape.k, dim=1)
        values = values.relu()
        features = torch.zeros_like(pre).scatter(1, indices, values)
        rest = y - (features @ self.W_dec + self.b_dec)
        unexplained = rest.square().sum()
        variance = (y - y.mean(0)).square().sum()
        self._hear(features)
        loss = unexplained / variance + AUX_WEIGHT * self._revive(pre, rest.detach())
        self._adam.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self._update(learning_rate)
        return torch.stack([unexplained, variance, (values > 0).sum()]).detach()

    @torch.no_grad()
    def _hear(self, features: Tensor) -> None:
        """Note which features were active: [tokens, d_sae]."""
        self.silent_for += len(features)
        self.silent_for.masked_fill_(features.amax(0) > 0, 0)

    def _revive(self, pre: Tensor, rest: Tensor) -> Tensor:
        """How badly silent features explain what is left; 0 where none is silent."""
        silent = self.silent_for >= self.shape.silent_after
        asked = int(AUX_FEATURES * rest.shape[1])
        n_silent = int(silent.sum())
        if n_silent == 0:
            return rest.new_zeros(())
        values, indices = pre.masked_fill(~silent, -torch.inf).topk(min(asked, n_silent), dim=1)
        features = torch.zeros_like(pre).scatter(1, indices, values.relu())
        missed = (rest - features @ self.W_dec).square().sum() / rest.square().sum()
        return missed * min(1.0, n_silent / asked)

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
        tensors = {name: getattr(self, name).detach() for name in PARAMETERS}
        tensors |= {"mean": self.mean, "scale": self.scale, "silent_for": self.silent_for}
        for name, parameter in zip(PARAMETERS, self.parameters(), strict=True):
            for moment, value in self._adam.state.get(parameter, {}).items():
                tensors[f"adam.{name}.{moment}"] = value
        return tensors

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a saved state."""
        with torch.no_grad():
            for name in (*PARAMETERS, "silent_for"):
                getattr(self, name).copy_(state[name])
        for name, parameter in zip(PARAMETERS, self.parameters(), strict=True):
            prefix = f"adam.{name}."
            saved = {key.removeprefix(prefix): v for key, v in state.items() if prefix in key}
            self._adam.state[parameter] = {key: v.clone() for key, v in saved.items()}

    @torch.no_grad()
    def finished(self, hook: str, layer: int, origin: Origin) -> Autoencoder:
        """The autoencoder for activations as they are, with centre and scale folded in."""
        return Autoencoder(
            W_enc=self.W_enc.detach().clone(),
            b_enc=self.b_enc.detach() * self.scale,
            W_dec=self.W_dec.detach().clone(),
            b_dec=self.mean + self.b_dec.detach() * self.scale,
            activation=TopK(self.shape.k),
            subtract_b_dec=True,
            hook=hook,
            layer=layer,
            origin=origin,
        )


def centre_and_scale(activations: Tensor) -> tuple[Tensor, Tensor]:
    """Mean [width] and root mean square around it (one number) of activations [tokens, width]."""
    mean = activations.float().mean(0)
    parts = torch.split(activations, 65536)
    squares = torch.stack([(part.float() - mean).square().sum() for part in parts])
    return mean, (squares.sum() / activations.numel()).sqrt()
