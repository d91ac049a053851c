"""What `sonde sae` says: how far training is, what a file holds. Pure text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sonde.cli.progress import time_left
from sonde.cli.sae_table import percent
from sonde.results import numbers

if TYPE_CHECKING:
    from sonde.sae.autoencoder import Autoencoder
    from sonde.sae.train import Progress


def in_words(now: Progress) -> str:
    """How far training is."""
    done = f"{now.tokens:,} of {now.total:,} tokens"
    layers = "; ".join(
        f"layer {layer} FVU {each.fvu:.3f}, L0 {each.l0:.1f}, dead {percent(each.dead)}, "
        f"dense {each.dense}"
        for layer, each in now.layers.items()
    )
    speed = numbers.rate(now.tokens_per_second, "tokens")
    return f"{done}, {speed}, {time_left(now.seconds_left)}: {layers}"


def facts(held: Autoencoder) -> dict[str, Any]:
    """What its files say, and how long its decoder rows are."""
    from sonde.sae.health import decoder_norms

    norms = decoder_norms(held)
    return {
        "format": held.origin.format,
        "file": held.origin.file,
        "sha256": held.origin.sha256,
        "model": held.origin.model,
        "hook": held.hook,
        "hook_out": held.hook_out,
        "layer": held.layer,
        "width": held.d_in,
        "features": held.d_sae,
        "activation": held.activation.kind,
        "k": getattr(held.activation, "k", None),
        "subtract_b_dec": held.subtract_b_dec,
        "norm_in": held.norm_in,
        "decoder_norms": [round(v, 4) for v in (norms.smallest, norms.median, norms.largest)],
        "evaluation": held.origin.notes.get("evaluation"),
    }
