"""Which layers carry what a policy gained, in words: every layer put back whole. Pure text."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.results.numbers import number, signed
from sonde.schema.changed import Changed, LayerMove

LEVEL = 0.05


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
    watched = "; ".join(
        f"layer {layer} takes {signed(layers[layer].undone, 1)} whole, "
        f"{signed(each.undone, 1)} with all its features at once"
        for layer, each in all_features(changed).items()
        if layer in layers
    )
    return f"{said}. Of those that were watched, {watched}." if watched else f"{said}."


def nulls(changed: Changed) -> Iterator[str]:
    """The watched layers that carry nothing of it, so that none of their features can."""
    layers = whole(changed)
    for layer in all_features(changed):
        if layer in layers and not takes(layers[layer]):
            yield (
                f"Layer {layer}, put back whole, takes no more of the gain away than random "
                "directions as long: what was learned is not in what it passes on there."
            )
