"""Read and write rows of a step's activations, inside the model, at one site.

vLLM passes the residual stream between modules in two halves, `hidden` and `residual`, whose sum
is the stream; the sum is made by the next norm, in float32. Hence, at a site of the stream:

- **read** takes the sum in float32;
- **write** splits a float32 value v into hi = v rounded to the model's dtype and lo = what is left,
  and puts them into the halves. The norm then sees v, not its rounding, and a run that is patched
  with its own activations does not change by a bit, not even in bfloat16.

Dimensions with weight 0, and those to which nothing is added, keep both halves untouched. At
a hook of heads a row holds all heads of this rank end to end, and a write is to one of them.

Order at a site: read, then write. What was read and written is counted here, in the tap, because a
tap that was planned may never be reached.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor, nn

from sonde.backends.blending import untouched, written
from sonde.backends.vllm.adapters import Edges
from sonde.schema import HOOK_TABLE, Hook

SiteKey = tuple[Hook, int]


class Written(Protocol):
    """The caller that asked for a write, told when it was made."""

    def wrote(self, index: int) -> None:
        """Number `index` of the request's spots was written."""
        ...


class Sink(Protocol):
    """The caller that asked for activations."""

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
    """[n, 1] or [n, width]; None is 1 everywhere."""
    adds: Tensor | None
    """[n, 1], true where the value is added to what is there; None when it never is."""
    owners: tuple[tuple[Written, int], ...]
    heads: Tensor | None = None
    """[n], which of this rank's heads is written; None where a value is the whole row."""


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
    if writes.heads is not None:
        _write_heads(hidden, writes, writes.heads)
        return
    rows, values = writes.rows, writes.values
    kept = untouched(values, writes.weight, writes.adds)
    if kept is not None:
        current = read(hidden, residual, rows).float()
        values = written(current, values, writes.weight, writes.adds)
    if residual is None:
        _put(hidden, rows, values.to(hidden.dtype), kept)
        return
    high = values.to(residual.dtype)
    _put(hidden, rows, (values - high.float()).to(hidden.dtype), kept)
    _put(residual, rows, high, kept)


def _write_heads(hidden: Tensor, writes: SiteWrites, heads: Tensor) -> None:
    """Overwrite parts of rows in place: one head, as wide as its values, of each."""
    target = hidden.view(len(hidden), -1, writes.values.shape[1])
    where, weight, adds = (writes.rows, heads), writes.weight, writes.adds
    current = target[where]
    new = written(current.float(), writes.values, weight, adds).to(hidden.dtype)
    kept = untouched(writes.values, weight, adds)
    target[where] = new if kept is None else new.where(~kept, current)


def _put(target: Tensor, rows: Tensor, new: Tensor, kept: Tensor | None) -> None:
    """Overwrite rows, except where what is there is kept."""
    if kept is not None:
        new = new.where(~kept, target.index_select(0, rows))
    target.index_copy_(0, rows, new)


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


def install(edges: Edges, step: Step) -> None:
    """Tap every site of these layers."""
    for layer, at in edges.items():
        for hook, edge in at.items():
            if edge.side == "in":
                received = _received(step, (hook, layer), edge.argument)
                edge.module.register_forward_pre_hook(received)
            else:
                edge.module.register_forward_hook(_returned(step, (hook, layer)))


def _received(step: Step, site: SiteKey, argument: int) -> Callable[[nn.Module, Any], None]:
    """On what a module is called with. A norm gets both halves of the stream, or, in the first
    layer, the stream itself.
    """

    def before(_module: nn.Module, args: Any) -> None:
        halved = HOOK_TABLE[site[0]].is_stream and len(args) > 1
        tap(step, site, args[argument], args[1] if halved else None)

    return before


def _returned(step: Step, site: SiteKey) -> Callable[[nn.Module, Any, Any], None]:
    """On what a module returns: a layer both halves of the stream, a branch one tensor."""

    def after(_module: nn.Module, _args: Any, output: Any) -> None:
        hidden, residual = output if HOOK_TABLE[site[0]].is_stream else (output, None)
        tap(step, site, hidden, residual)

    return after
