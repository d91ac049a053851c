"""Which layers carry what a policy gained, in words: every layer put back whole. Pure text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sonde.results.numbers import all_of, number, signed, span
from sonde.schema.changed import Changed, LayerMove

LEVEL = 0.05
NOTHING = 0.05
"""Nats that are told as none."""


def whole(changed: Changed) -> dict[int, LayerMove]:
    """All of the activation, by layer; nothing where that was not tried."""
    return {each.layer: each for each in changed.layers if each.what == "all + error"}


def all_features(changed: Changed) -> dict[int, LayerMove]:
    """All features at once, by the layers that were watched."""
    return {each.layer: each for each in changed.layers if each.what == "all features"}


def takes(each: LayerMove) -> bool:
    """Whether it takes gain away, more than random directions as long."""
    return each.undone > 0 and each.p_family is not None and each.p_family <= LEVEL


def where(changed: Changed) -> str:
    """The first layer that carries any of it, and what the watched ones carry."""
    layers = whole(changed)
    if not layers:
        return ""
    first = next((each for each in layers.values() if takes(each)), None)
    if first is None:
        said = (
            "No layer, put back whole where these tokens are decided, takes more of the gain away "
            "than random directions as long do"
        )
    else:
        said = (
            f"Put back whole where these tokens are decided, layer {first.layer} is the first to "
            f"take more of the gain away than random directions as long do "
            f"({signed(first.undone, 1)}, corrected p {number(first.p_family)})"
        )
    watched = "; ".join(_watched(layers, all_features(changed)))
    return f"{said}. Of those that were watched, {watched}." if watched else f"{said}."


def _watched(layers: Mapping[int, LayerMove], features: Mapping[int, LayerMove]) -> Iterator[str]:
    """Those that take something away, with what their features do; the others by name."""
    taking = [layer for layer in features if layer in layers and layers[layer].undone >= NOTHING]
    others = [str(layer) for layer in features if layer in layers and layer not in taking]
    if others:
        yield f"{all_of(others)} {'takes' if len(others) == 1 else 'take'} nothing away"
    for layer in taking:
        yield (
            f"{layer} takes {signed(layers[layer].undone, 1)} whole, "
            f"{signed(features[layer].undone, 1)} with all its features at once"
        )


def nulls(changed: Changed) -> Iterator[str]:
    """The watched layers of which it is not shown that any of it has come there."""
    layers = whole(changed)
    for layer in all_features(changed):
        each = layers.get(layer)
        if each is not None and not takes(each):
            yield (
                f"Layer {layer}, put back whole, takes {signed(each.undone, 1)} of the gain away, "
                f"random directions as long {span(each.random, 1)}: that what was learned has "
                "come into the stream by there is not shown."
            )
