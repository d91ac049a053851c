"""What `sonde sae` says: how far training is, what judging found, what a file holds. Pure text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sonde.cli.progress import time_left
from sonde.results import numbers

if TYPE_CHECKING:
    from sonde.sae.autoencoder import Autoencoder
    from sonde.sae.evaluate import Evaluation
    from sonde.sae.train import Progress


def in_words(now: Progress) -> str:
    """How far training is."""
    done = f"{now.tokens:,} of {now.total:,} tokens"
    layers = "; ".join(
        f"layer {layer} FVU {each.fvu:.3f}, L0 {each.l0:.1f}, dead {_percent(each.dead)}"
        for layer, each in now.layers.items()
    )
    speed = numbers.rate(now.tokens_per_second, "tokens")
    return f"{done}, {speed}, {time_left(now.seconds_left)}: {layers}"


def table(found: dict[int, Evaluation]) -> str:
    """One line a layer."""
    rows = [
        "layer     FVU      L0    dead  cosine  CE recovered  (from mean)  CE original → spliced"
    ]
    for layer, each in found.items():
        health, loss = each.health, each.loss
        rows.append(
            f"{layer:>5}  {numbers.fixed(health.fvu, 4):>6}  {numbers.fixed(health.l0, 1):>6}  "
            f"{_percent(health.dead):>6}  {numbers.fixed(health.cosine, 4):>6}  "
            f"{_percent(loss.recovered):>12}  {_percent(loss.recovered_from_mean):>11}  "
            f"{numbers.fixed(loss.original, 3):>11} → {numbers.fixed(loss.spliced, 3)}"
        )
    tokens = next(iter(found.values())).health.tokens
    rows.append(f"over {tokens:,} tokens; position 0 left out; recovered against zeros")
    return "\n".join(rows)


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


def _percent(share: float | None) -> str:
    return numbers.MISSING if share is None else f"{100 * share:.2f} %"
