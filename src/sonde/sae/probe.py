"""Try a dictionary on real activations before anything is built on it.

A dictionary read at the wrong hook, layer or scale still gives features and numbers. What gives it
away is that it explains less than the plain mean would.
"""

import warnings
from typing import Final

from torch import Tensor

from sonde.errors import BadRequest
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.health import Health, HealthMeter

BATCH: Final = 4096


class PoorFit(UserWarning):
    """A dictionary that explains less of what it was given than the mean does."""


def probe(autoencoder: Autoencoder, activations: Tensor, target: Tensor | None = None) -> Health:
    """Health over activations [tokens, d_in], position 0 of each prompt left out by the caller.

    A transcoder is compared with `target` [tokens, d_out], the site it predicts. Warns with
    `PoorFit` when FVU is above 1, which is what a wrong hook looks like.
    """
    target = activations if target is None else target
    _check(autoencoder, activations, target)
    meter = HealthMeter(autoencoder.d_sae)
    for start in range(0, len(activations), BATCH):
        x = activations[start : start + BATCH].to(autoencoder.device)
        wanted = target[start : start + BATCH].to(autoencoder.device)
        active = autoencoder.encode(x)
        meter.add(wanted, autoencoder.decode(active, x), active)
    health = meter.health()
    if health.fvu is not None and health.fvu > 1:
        warnings.warn(_poor(autoencoder, health.fvu), PoorFit, stacklevel=2)
    return health


def _check(autoencoder: Autoencoder, activations: Tensor, target: Tensor) -> None:
    wanted = {"activations": autoencoder.d_in, "target": autoencoder.d_out}
    for name, tensor in {"activations": activations, "target": target}.items():
        if tensor.dim() != 2 or tensor.shape[1] != wanted[name] or not len(tensor):
            raise BadRequest(
                f"{name} have shape {list(tensor.shape)}, expected [tokens, {wanted[name]}] with "
                "at least one token; a transcoder needs the site it predicts as target"
            )
    if len(target) != len(activations):
        raise BadRequest(
            f"{len(activations)} activations and {len(target)} targets, expected as many"
        )


def _poor(autoencoder: Autoencoder, fvu: float) -> str:
    said = f"{autoencoder.hook or 'no hook'}, layer {autoencoder.layer}"
    return (
        f"FVU {fvu:.3g}: this dictionary explains less than the mean of these activations does. "
        f"Its files say {said}: check that they come from there, unscaled and without position 0"
    )
