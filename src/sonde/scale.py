"""What a sweep would take on other hardware, and for larger models: arithmetic, not measurement.

    fleet("8xH100")
    cost(SHAPES[1], work, fleet("8xH100")).seconds

Two ways of computing a cell, each with the share of a device's peak that it reaches. A model that
fits one device has a copy on each, and pairs are shared out among them, on the packed path: that
share was measured on one H200. One that does not is split over as few as hold it (vLLM, tensor
parallel), and computes every layer: that share is assumed. Loading, and the statistics, are left
out. Nothing here has seen the hardware it speaks of.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sonde.errors import BadRequest
from sonde.schema import HEAD_HOOKS, Estimate, ModelDescription

ITEM: Final = 2
"""Bytes of a bfloat16 number."""

PACKED_SHARE: Final = 0.48
"""Of the peak, by the packed path: 60 % of what bare products reach on one H200, 8 pairs of 16
tokens by 1,024 heads of an 8B shape, compiled; those reach 81 % of the peak."""

PREFILL_SHARE: Final = 0.4
"""Of the peak, by prefill of long batches: an assumption, to be replaced."""

WEIGHTS_SHARE: Final = 0.7
"""Of a device's memory; the rest is for keys and values and for the work itself."""

BLOCK: Final = 16
"""Tokens that vLLM's prefix cache shares at a time on a GPU."""


@dataclass(frozen=True)
class Device:
    """One accelerator: dense bfloat16 operations a second, and bytes, as its maker gives them."""

    name: str
    peak: float
    memory: float


DEVICES: Final = (
    Device("A100", 312e12, 80e9),
    Device("H100", 989e12, 80e9),
    Device("H200", 989e12, 141e9),
    Device("B200", 2250e12, 180e9),
    Device("MI300X", 1307e12, 192e9),
)


@dataclass(frozen=True)
class Fleet:
    """So many of one device."""

    count: int
    device: Device

    def __str__(self) -> str:
        return f"{self.count} × {self.device.name}"


@dataclass(frozen=True)
class Shape:
    """A model, as far as these numbers depend on it."""

    name: str
    parameters: float
    layers: int
    width: int
    heads: int
    active: float
    """Parameters that one token meets: fewer than all in a mixture of experts."""


SHAPES: Final = (
    Shape("8B", 8.03e9, 32, 4096, 32, 8.03e9),
    Shape("70B", 70.6e9, 80, 8192, 64, 70.6e9),
    Shape("8×7B mixture", 46.7e9, 32, 4096, 32, 12.9e9),
)
"""In the shape of Llama 3.1, and of Mixtral."""


@dataclass(frozen=True)
class Rows:
    """What a sweep computes of a model: rows that each begin at some layer, of so many tokens."""

    count: float
    tokens: float
    """That a row computes in a layer: from the first that it changes to the end of its prompt."""


@dataclass(frozen=True)
class Cost:
    """What it takes."""

    devices: int
    """That one copy of the model is spread over."""
    copies: int
    """0 where the fleet does not hold the model."""
    seconds: float | None
    """None where it does not."""

    @property
    def way(self) -> str:
        """How, in words."""
        if not self.copies:
            return f"does not fit: a copy takes {self.devices}"
        spread = "packed" if self.devices == 1 else f"vLLM, tensor parallel {self.devices}"
        return f"{self.copies} × {spread}" if self.copies > 1 else spread


def fleet(text: str) -> Fleet:
    """`8xH100`, or `H100` for one."""
    known = {device.name.lower(): device for device in DEVICES}
    found = re.fullmatch(r"(?:([1-9][0-9]{0,4})x)?([a-z0-9]+)", text.lower())
    if found is None or found[2] not in known:
        names = ", ".join(device.name for device in DEVICES)
        raise BadRequest(f"--on {text!r}: write a number and a device, 8xH100; known are {names}")
    return Fleet(int(found[1] or 1), known[found[2]])


def rows_of(
    shape: Shape, here: Estimate, model: ModelDescription, hooks: Sequence[str], *, each_head: bool
) -> Rows:
    """The sweep that was estimated for a model at hand, for another shape of model.

    Of all layers: as many rows a layer, or a head, and as many tokens a row.
    """
    heads = model.heads.heads if model.heads else 1

    def sites(layers: int, heads: int) -> int:
        return layers * sum(heads if each_head and hook in HEAD_HOOKS else 1 for hook in hooks)

    above = (model.n_layers + 1) / 2
    return Rows(
        here.computed_cells * sites(shape.layers, shape.heads) / sites(model.n_layers, heads),
        here.token_layers / (max(1, here.computed_cells) * above),
    )


def devices_for(shape: Shape, memory: float) -> int:
    """The smallest power of two of devices that holds the weights and leaves room to work."""
    count = 1
    while count * memory * WEIGHTS_SHARE < ITEM * shape.parameters:
        count *= 2
    return count


def cost(shape: Shape, rows: Rows, on: Fleet) -> Cost:
    """What the rows take there, where every copy of the model has its share of them."""
    devices = devices_for(shape, on.device.memory)
    copies = on.count // devices
    if not copies:
        return Cost(devices, 0, None)
    if devices == 1:
        above = (shape.layers + 1) / 2 / shape.layers
        tokens, share = rows.count * rows.tokens * above, PACKED_SHARE
    else:
        tokens, share = rows.count * math.ceil(rows.tokens / BLOCK) * BLOCK, PREFILL_SHARE
    operations = 2 * shape.active * tokens
    return Cost(devices, copies, operations / (on.device.peak * share * devices * copies))
