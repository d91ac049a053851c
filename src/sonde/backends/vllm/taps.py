"""Read and write rows of a step's activations, inside the model, at one site.

vLLM passes the residual stream between modules in two halves, `hidden` and `residual`, whose sum
is the stream; the sum is made by the next norm, in float32. Hence, at a site of the stream:

- **read** takes the sum in float32;
- **write** splits a float32 value v into hi = v rounded to the model's dtype and lo = what is left,
  and puts them into the halves. The norm then sees v, not its rounding, and a run that is patched
  with its own activations does not change by a bit, not even in bfloat16.

Dimensions with weight 0 keep both halves untouched. Order at a site: read, then write. What was
read and written is counted here, in the tap, because a tap that was planned may never be reached.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import torch
from torch import Tensor, nn

from sonde.backends.torch.writes import blend
from sonde.backends.vllm.adapters import Places
from sonde.schema import Hook

STREAM: Final[frozenset[Hook]] = frozenset({"pre_attn", "post_attn", "post_block"})
"""Sites of the residual stream, in two halves; the others are one tensor."""

SiteKey = tuple[Hook, int]


class Written(Protocol):
    """Whoever asked for a write, told when it was made."""

    def wrote(self, index: int) -> None:
        """Patch number `index` of the request was written."""
        ...


class Sink(Protocol):
    """Whoever asked for activations."""

    def keep(self, site: SiteKey, columns: list[int], values: Tensor) -> None:
        """Values [n, width] of a site, for these of the wanted positions."""
        ...


@dataclass(frozen=True)
class SiteWrites:
    """Rows to overwrite at one site."""

    rows: Tensor
    values: Tensor
    """[n, width], float32."""
    weight: Tensor | None
    """[n, 1] or [n, width]; None replaces outright."""
    owners: tuple[tuple[Written, int], ...]


@dataclass(frozen=True)
class SiteReads:
    """Rows to keep at one site, for one request."""

    rows: Tensor
    columns: list[int]
    sink: Sink


@dataclass
class SiteWork:
    """All that happens at one site in one step."""

    reads: list[SiteReads] = field(default_factory=list)
    writes: SiteWrites | None = None


@dataclass
class Step:
    """What the taps do in the step that runs now; empty between steps."""

    work: dict[SiteKey, SiteWork] = field(default_factory=dict)


def read(hidden: Tensor, residual: Tensor | None, rows: Tensor) -> Tensor:
    """The activation at these rows: of two halves the sum, in float32."""
    taken = hidden.index_select(0, rows)
    if residual is None:
        return taken
    return taken.float() + residual.index_select(0, rows).float()


def write(hidden: Tensor, residual: Tensor | None, writes: SiteWrites) -> None:
    """Overwrite rows in place."""
    rows, weight = writes.rows, writes.weight
    values = writes.values
    if weight is not None:
        values = blend(read(hidden, residual, rows).float(), values, weight)
    if residual is None:
        hidden.index_copy_(0, rows, _kept(hidden, rows, values.to(hidden.dtype), weight))
        return
    high = values.to(residual.dtype)
    low = (values - high.float()).to(hidden.dtype)
    low, high = _kept(hidden, rows, low, weight), _kept(residual, rows, high, weight)
    hidden.index_copy_(0, rows, low)
    residual.index_copy_(0, rows, high)


def _kept(target: Tensor, rows: Tensor, new: Tensor, weight: Tensor | None) -> Tensor:
    """`new`, but what is there already where the weight is 0."""
    return new if weight is None else torch.where(weight == 0, target.index_select(0, rows), new)


def tap(step: Step, site: SiteKey, hidden: Tensor, residual: Tensor | None) -> None:
    """Do what this step asks for at a site."""
    work = step.work.get(site)
    if work is None:
        return
    for reads in work.reads:
        reads.sink.keep(site, reads.columns, read(hidden, residual, reads.rows))
    if work.writes is not None:
        write(hidden, residual, work.writes)
        for owner, index in work.writes.owners:
            owner.wrote(index)


def install(places: dict[int, Places], step: Step) -> None:
    """Tap every site of these layers."""
    for layer, at in places.items():
        at.before.register_forward_pre_hook(_receives(step, ("pre_attn", layer)))
        at.post_attn.register_forward_pre_hook(_receives(step, ("post_attn", layer)))
        at.mlp.register_forward_pre_hook(_receives_one(step, ("mlp_in", layer)))
        at.mlp_out.register_forward_hook(_returns_one(step, ("mlp_out", layer)))
        at.layer.register_forward_hook(_returns(step, ("post_block", layer)))


def _receives(step: Step, site: SiteKey) -> Callable[[nn.Module, Any], None]:
    """A norm's arguments: both halves, or, entering the first layer, the stream itself."""

    def before(_module: nn.Module, args: Any) -> None:
        tap(step, site, args[0], args[1] if len(args) > 1 else None)

    return before


def _receives_one(step: Step, site: SiteKey) -> Callable[[nn.Module, Any], None]:
    def before(_module: nn.Module, args: Any) -> None:
        tap(step, site, args[0], None)

    return before


def _returns(step: Step, site: SiteKey) -> Callable[[nn.Module, Any, Any], None]:
    def after(_module: nn.Module, _args: Any, output: Any) -> None:
        tap(step, site, output[0], output[1])

    return after


def _returns_one(step: Step, site: SiteKey) -> Callable[[nn.Module, Any, Any], None]:
    def after(_module: nn.Module, _args: Any, output: Any) -> None:
        tap(step, site, output, None)

    return after
