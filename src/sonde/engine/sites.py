"""The cells of a sweep over sites: hooks × layers × positions, with the row behind every cell.

Other axes have cells of their own (features: `sonde.sae.feature_axis`); whatever they are, `tables`
runs them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast, runtime_checkable

from sonde.backends.base import Row, Site, Write
from sonde.engine.columns import Columns, columns_of
from sonde.engine.controls import ControlRow, control_position, control_rows
from sonde.engine.setting import Setting
from sonde.engine.sources import SourceOf, Span, sources_of, zeros
from sonde.engine.trial import Panel
from sonde.errors import (
    BadRequest,
    HeadOutOfRange,
    LayerOutOfRange,
    RequestTooLarge,
    UnknownHook,
)
from sonde.schema import HOOK_TABLE, Hook, LayerRange
from sonde.schema.table import Axis, Table


@dataclass(frozen=True)
class Cells:
    """Empty tables, what each cell of them runs, and the controls that go with them."""

    tables: list[Table]
    panels: list[Panel]
    controls: list[ControlRow] = field(default_factory=list)
    columns: Columns | None = None
    """Where each column is."""
    notes: dict[str, str] = field(default_factory=dict)
    """What was chosen on the way."""

    @property
    def n_cells(self) -> int:
        """Cells of all tables."""
        return sum(panel.n_cells for panel in self.panels)


class CellsOf(Protocol):
    """Makes the cells of a request; captures what their rows read, unless only `reckoned`."""

    def __call__(self, setting: Setting, *, reckoned: bool = False) -> Cells:
        """The cells."""
        ...


@runtime_checkable
class SharedCells(CellsOf, Protocol):
    """Cells whose axes hang on what the model does: several prompts have to settle on them."""

    def shared(self, settings: Iterable[Setting]) -> CellsOf:
        """The same, with the axes that all of these prompts have."""
        ...


def layers_of(setting: Setting) -> list[int]:
    """The layers asked for; all of them, if none is named."""
    given = setting.request.layers
    n = setting.model.n_layers
    if given is None or isinstance(given, str):
        return list(range(n))
    if isinstance(given, LayerRange):
        if given.stop > given.start:
            last = given.start + (given.stop - given.start - 1) // given.step * given.step
            _check_layers([given.start, last], n)
        return list(range(given.start, given.stop, given.step))
    if len(given) > setting.limits.layers:
        raise BadRequest(f"{len(given)} layers; at most {setting.limits.layers} in one sweep")
    _check_layers(given, n)
    return list(given)


def _check_layers(layers: Sequence[int], n: int) -> None:
    for layer in layers:
        if not 0 <= layer < n:
            raise LayerOutOfRange(layer, n)


def span_of(setting: Setting) -> Span:
    """The hooks and layers that a request writes at."""
    return Span(_hooks(setting), sorted({layer for band in _bands(setting) for layer in band}))


def site_cells(setting: Setting, *, reckoned: bool = False) -> Cells:
    """One table a hook: layers by heads, where it has some, by positions, unless together."""
    if setting.request.features is not None:
        raise BadRequest("`features` need a dictionary, and none was given with this sweep")
    hooks = _hooks(setting)
    bands = _bands(setting)
    heads = {hook: head_sets(setting, hook) for hook in hooks}
    count = sum(len(heads[hook] or [None]) for hook in hooks) * len(bands)
    columns = columns_of(setting, hooks, count)
    span = Span(hooks, sorted({layer for band in bands for layer in band}))
    takes = [column.sources for column in columns.each]
    sources = [zeros(setting)] * len(takes) if reckoned else sources_of(setting, span, takes)
    sweep = _SiteSweep(setting, bands, columns, sources)
    tables = [sweep.table(hook, heads[hook]) for hook in hooks]
    panels = [sweep.panel(hook, heads[hook]) for hook in hooks]
    if reckoned:
        return Cells(tables, panels, columns=columns)
    middle = bands[len(bands) // 2]
    writes = [
        _control_write(setting, hook, middle[len(middle) // 2], sweep, heads[hook])
        for hook in hooks
    ]
    controls = control_rows(writes, own_run(setting, hooks, writes))
    return Cells(tables, panels, controls, columns)


@dataclass(frozen=True)
class _SiteSweep:
    """What the tables of all hooks have in common."""

    setting: Setting
    bands: Sequence[tuple[int, ...]]
    """Layers that are written together: one each, unless they are windows."""
    columns: Columns
    sources: Sequence[SourceOf]
    """One for each column."""

    def table(self, hook: Hook, heads: Sequence[tuple[int, ...]] | None) -> Table:
        """The empty table of one hook."""
        middles = [band[len(band) // 2] for band in self.bands]
        names = [str(b[0]) if len(b) == 1 else f"{b[0]}–{b[-1]}" for b in self.bands]
        wide = setting_windows(self.setting) is not None
        values = list(range(len(names))) if wide else middles
        axes = [Axis(name="layer", values=list(values), labels=names)]
        if heads is not None:
            numbers = [each[0] if len(each) == 1 else "+".join(map(str, each)) for each in heads]
            said = [head_label(self.setting, hook, each) for each in heads]
            axes.append(Axis(name="head", values=numbers, labels=said))
        if self.columns.axis is not None:
            axes.append(self.columns.axis)
        return Table(hook=hook, axes=axes, values={})

    def panel(self, hook: Hook, heads: Sequence[tuple[int, ...]] | None) -> Panel:
        """The row behind every cell of one hook."""

        def row_at(place: tuple[int, ...]) -> Row:
            band = self.bands[place[0]]
            some = None if heads is None else heads[place[1]]
            column = 0 if self.columns.axis is None else place[-1]
            each = [self.writes(hook, layer, some, column) for layer in band]
            return Row(tuple([write for writes in each for write in writes]))

        shape = (len(self.bands), *([] if heads is None else [len(heads)]))
        together = self.columns.axis is None
        return Panel(shape if together else (*shape, len(self.columns.each)), row_at)

    def writes(
        self,
        hook: Hook,
        layer: int,
        heads: tuple[int, ...] | None,
        column: int,
        at: tuple[int, ...] | None = None,
    ) -> list[Write]:
        """The writes of some heads of one layer, at a column or at some positions of it."""
        where = at or self.columns.each[column].positions
        source = self.sources[column]
        sites = [Site(hook, layer, where)]
        if heads is not None:
            sites = [Site(hook, layer, where, head) for head in heads]
        if heads is not None and reads_apart(self.setting, hook):
            sites = _read_sites(self.setting, Site(hook, layer, where), heads)
        alpha = self.setting.request.alpha
        return [Write(site, source(site), alpha) for site in sites]


def _read_sites(setting: Setting, site: Site, readers: Sequence[int]) -> list[Site]:
    """The key heads that some query heads read, each for these readers alone."""
    shape = setting.model.heads
    assert shape is not None
    groups = dict.fromkeys(shape.group(reader) for reader in readers)
    return [
        replace(site, head=group, readers=tuple(r for r in readers if shape.group(r) == group))
        for group in groups
    ]


def reads_apart(setting: Setting, hook: Hook) -> bool:
    """Whether keys or values are written for one query head alone."""
    return setting.request.kv == "reader" and HOOK_TABLE[hook].per == "kv_head"


def head_sets(setting: Setting, hook: Hook) -> list[tuple[int, ...]] | None:
    """The heads that are written together, cell by cell; None where the hook has none."""
    given = setting.request.heads
    if HOOK_TABLE[hook].per == "model":
        return None
    shape = setting.model.heads
    assert shape is not None, "only models with heads have hooks of heads"
    n = shape.heads if reads_apart(setting, hook) else shape.count(hook)
    if given == "together":
        return [tuple(range(n))]
    if given is None or given == "all":
        return [(head,) for head in range(n)]
    sets = [tuple(dict.fromkeys(each if isinstance(each, list) else [each])) for each in given]
    for head in (head for each in sets for head in each):
        if not 0 <= head < n:
            raise HeadOutOfRange(hook, head, n, shape.heads)
    return sets


def head_label(setting: Setting, hook: Hook, heads: Sequence[int]) -> str:
    """A head's number; of a key head that several query heads share, theirs: `q3–5`."""
    shape = setting.model.heads
    assert shape is not None
    grouped = HOOK_TABLE[hook].per == "kv_head" and shape.heads > shape.kv_heads
    if not grouped or reads_apart(setting, hook):
        return "+".join(map(str, heads))
    readers = [shape.readers(head) for head in heads]
    return "+".join(f"q{r[0]}–{r[-1]}" for r in readers)


def setting_windows(setting: Setting) -> int | None:
    """How many layers are written at once; None where each is alone."""
    given = setting.request.layers
    return int(given.partition(":")[2]) if isinstance(given, str) else None


def _bands(setting: Setting) -> list[tuple[int, ...]]:
    """The layers of every cell: one, or a window that is cut at either end."""
    width, n = setting_windows(setting), setting.model.n_layers
    if width is None:
        return [(layer,) for layer in layers_of(setting)]
    if setting.request.kv == "reader":
        raise BadRequest(
            "kv='reader' writes keys of one layer for one head alone, and a window changes what "
            "the others read in its next layer; take kv='group', or layers one by one"
        )
    before = (width - 1) // 2
    starts = [layer - before for layer in range(n)]
    return [tuple(range(max(0, start), min(n, start + width))) for start in starts]


def _hooks(setting: Setting) -> list[Hook]:
    names = setting.request.hooks or ["post_block"]
    for name in names:
        if name not in setting.model.hooks:
            elsewhere, why = setting.model.elsewhere(name), setting.model.why_not(name)
            raise UnknownHook(name, setting.model.hooks, elsewhere=elsewhere, why=why)
    return list(dict.fromkeys(cast(list[Hook], names)))


def _control_write(
    setting: Setting,
    hook: Hook,
    layer: int,
    sweep: _SiteSweep,
    heads: Sequence[tuple[int, ...]] | None,
) -> Write:
    """A write in the middle of the sweep whose effect the answer could see."""
    some = None if heads is None else heads[len(heads) // 2][:1]
    positions = sweep.columns.positions
    middle = positions[len(positions) // 2]
    column = next(n for n, each in enumerate(sweep.columns.each) if middle in each.positions)
    [made] = sweep.writes(hook, layer, some, column, (middle,))
    at = control_position(hook, layer, positions, setting.model, len(setting.corrupt))
    return replace(made, site=replace(made.site, positions=(at,)))


def own_run(setting: Setting, hooks: Sequence[Hook], writes: Sequence[Write]) -> str | None:
    """The corrupt prompt's own activations at the control sites, for the self-patch."""
    name = f"{setting.holder}.own"
    layers = sorted({write.site.layer for write in writes})
    positions = sorted({p for write in writes for p in write.site.positions})
    try:
        held = setting.backend.capture(name, setting.corrupt, hooks, layers, positions)
    except RequestTooLarge as error:
        setting.warnings.append(f"no self-patch control: {error}")
        return None
    setting.cleanup.callback(setting.backend.drop, name, held.generation)
    setting.lease(name)
    return name
