"""Cells of heads, for grids that are compared with the torch backend's."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from sonde.backends.base import FromRun, MeanOf, Minus, Row, Site, Write
from sonde.schema import Hook, ModelDescription

How = Literal["set", "add"]
BOTH: tuple[How, How] = ("set", "add")
HOOKS: tuple[Hook, ...] = ("z", "q", "k", "v")


def heads_of(model: ModelDescription, hook: Hook) -> range:
    """The heads of a hook."""
    assert model.heads is not None
    return range(model.heads.count(hook))


def every_head(model: ModelDescription, hook: Hook, layer: int, run: str, n: int) -> Row:
    """All heads of a layer, at all positions, from a run."""
    everywhere = tuple(range(n))
    sites = [Site(hook, layer, everywhere, head) for head in heads_of(model, hook)]
    return Row(tuple(Write(site, FromRun(run, everywhere)) for site in sites), computed=True)


def head_cells(model: ModelDescription, layers: Sequence[int], n: int) -> list[Row]:
    """Every head of these layers, from the run "clean": at all positions, blended in the middle,
    and added at the end.
    """
    places: tuple[tuple[tuple[int, ...], float, How], ...] = (
        (tuple(range(n)), 1.0, "set"), ((n // 2,), 0.6, "set"), ((n - 1, 1), 0.4, "add")
    )  # fmt: skip
    return [
        Row((Write(Site(hook, layer, at, head), FromRun("clean", at), alpha, how=how),))
        for hook in HOOKS
        for layer in layers
        for head in heads_of(model, hook)
        for at, alpha, how in places
    ]


def mixed_cells(model: ModelDescription, n: int) -> list[Row]:
    """Means, differences, masks, values of other heads and layers; several heads, hooks and layers
    in one row.
    """
    last, rows = model.n_layers - 1, []
    mean = MeanOf(tuple(FromRun("clean", (p,)) for p in (0, 1, 3)))
    apart = Minus(FromRun("clean", (3, n - 1)), FromRun("clean", (1, 2)))
    for hook in HOOKS:
        end = heads_of(model, hook)[-1]
        width = model.hook_width(hook, n) // len(heads_of(model, hook))
        mask = np.linspace(0, 1, width).astype(np.float32)
        rows.append(Row((Write(Site(hook, 1, (2,), end), mean, 0.7, mask),)))
        rows.append(Row((Write(Site(hook, 0, (2, 4), 0), apart, 0.5, how="add"),)))
        other = FromRun("clean", (1, 3), layer=last, head=0)
        rows.append(Row((Write(Site(hook, 1, (3, 4), end), other),)))
    for layers in ([0], [0, last], range(model.n_layers)):
        cell = [
            Write(Site(hook, layer, (2, n - 1), head), FromRun("clean", (2, n - 1)), how=how)
            for layer in layers
            for hook in HOOKS
            for how, head in zip(BOTH, heads_of(model, hook), strict=False)
        ]
        rows.append(Row((*cell, Write(Site("mlp_out", 1, (2,)), FromRun("clean", (1,))))))
    return rows
