"""What is written, gathered: rows of captured runs, vectors the caller gave, sums of them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sonde.backends.base import FromRun, FromVector, Site, Source, Vector, Write
from sonde.backends.blending import written
from sonde.backends.spots import terms
from sonde.backends.torch.packed.cells import Ints, Sources, end_to_end, spread
from sonde.backends.torch.packed.rows import index_tensor
from sonde.backends.torch.packed.trace import Trace
from sonde.errors import BadRequest, BadVectors, UnknownSourceRun
from sonde.schema import HOOK_TABLE, Hook


@dataclass(frozen=True)
class CapturedRun:
    """Activations of one prompt: per hook, [layers, positions, width].

    Where a hook has a value for each head: [layers, positions, heads, width].
    """

    n_tokens: int
    activations: dict[Hook, Tensor]
    layers: dict[int, int]
    """Layer -> index on the first axis."""
    positions: dict[int, int]
    """Position -> index on the second axis."""

    @cached_property
    def _columns(self) -> Ints:
        """Position -> index on the second axis, and -1 where it was not captured."""
        table = np.full(max(self.positions, default=-1) + 2, -1, dtype=np.int64)
        table[list(self.positions)] = list(self.positions.values())
        return table

    def nbytes(self) -> int:
        """Bytes of all activations."""
        return sum(t.numel() * t.element_size() for t in self.activations.values())

    def index(self, run: str, hook: Hook, layer: int, position: int) -> tuple[int, int]:
        """Where the activation of a site is; raises when it was not captured."""
        if (
            hook not in self.activations
            or layer not in self.layers
            or position not in self.positions
        ):
            raise UnknownSourceRun(
                f"patch source not found: run={run!r} site=({hook}, layer {layer}, "
                f"position {position}); it holds hooks {sorted(self.activations)}, "
                f"layers {sorted(self.layers)} and {len(self.positions)} positions of a "
                f"{self.n_tokens}-token prompt"
            )
        return self.layers[layer], self.positions[position]

    def indices(
        self, run: str, hook: Hook, layers: Sequence[int], counts: Ints, positions: Ints
    ) -> tuple[Ints, Ints]:
        """The same for many: of each layer so many of the positions, which are end to end."""
        rows = [self.layers.get(layer, -1) for layer in layers]
        columns = self._columns[np.clip(positions, -1, len(self._columns) - 1)]
        if hook not in self.activations or -1 in rows or (columns < 0).any():
            for layer, position in zip(np.repeat(layers, counts), positions, strict=True):
                self.index(run, hook, int(layer), int(position))
        return np.repeat(np.array(rows, dtype=np.int64), counts), columns

    def read(self, run: str, site: Site) -> Vector:
        """The activations of a site, one row a position: [positions, width] in float32.

        Where no head is named at a hook that has heads, those of all of them end to end.
        """
        at = [self.index(run, site.hook, site.layer, position) for position in site.positions]
        rows = self.activations[site.hook][[row for row, _ in at], [column for _, column in at]]
        rows = rows.flatten(1) if site.head is None else rows[:, site.head]
        return np.asarray(rows.float().cpu().numpy(), dtype=np.float32)


def keep(
    trace: Trace, hooks: Sequence[Hook], layers: Sequence[int], positions: Sequence[int]
) -> CapturedRun:
    """The part of a trace that a source run holds."""
    device = trace.residuals.device
    rows, columns = index_tensor(list(layers), device), index_tensor(list(positions), device)
    return CapturedRun(
        len(trace.tokens),
        {hook: trace.at(hook)[rows[:, None], columns[None, :]] for hook in hooks},
        {layer: i for i, layer in enumerate(layers)},
        {position: i for i, position in enumerate(positions)},
    )


def gather(some: Sequence[Write], runs: Mapping[str, CapturedRun], like: Tensor) -> Sources:
    """The values and weights of writes, a row for each of their positions, one after another.

    On the device and in the dtype of `like` [.., width]. A source that is one stored activation is
    copied as it is; sums are made in float32. Where hooks are of different widths, narrow values
    are followed by zeros that nobody reads.
    """
    single = [write.source for write in some]
    widths = _widths(some, runs, like.shape[-1])
    like = like.new_empty(0, max(widths.values(), default=like.shape[-1]))
    counts = _counts(some)
    n, starts = int(counts.sum()), np.cumsum(counts) - counts
    if all([isinstance(source, FromRun | FromVector) for source in single]):
        values = _table(n, widths, like)
        for group, taken in _terms(some, single, runs, widths):
            rows = index_tensor(_rows(group, starts, counts), values.device)
            values.index_copy_(0, rows, _wide(taken, like).to(values))
        return Sources(values, _weights(some, widths, counts, like), _adds(some, counts, like))
    split = [terms(source) for source in single]
    total = torch.zeros(n, like.shape[-1], device=like.device)
    for k in range(max(map(len, split))):  # term by term, so that a row's sum has one order
        here = [i for i, parts in enumerate(split) if len(parts) > k]
        each = [split[i][k] for i in here]
        writes, sources = [some[i] for i in here], [term.source for term in each]
        for group, taken in _terms(writes, sources, runs, widths):
            mine = [here[i] for i in group]
            where = index_tensor(_rows(mine, starts, counts), like.device)
            times = np.repeat(
                np.array([(each[i].sign, each[i].of) for i in group]), counts[mine], 0
            )
            scale, of = torch.from_numpy(times.T.astype(np.float32)[:, :, None]).to(like.device)
            values = _wide(taken, like).to(like.device).float()
            total.index_add_(0, where, scale * values / of)
    values = total.to(like.dtype)
    return Sources(values, _weights(some, widths, counts, like), _adds(some, counts, like))


def _counts(some: Sequence[Write]) -> Ints:
    """How many positions each write has."""
    return np.array([len(write.site.positions) for write in some], dtype=np.int64)


def _rows(group: Sequence[int], starts: Ints, counts: Ints) -> Ints:
    """The rows of some of the writes, one after another."""
    chosen = np.asarray(group, dtype=np.int64)
    number, within = spread(counts[chosen])
    return starts[chosen][number] + within


def _widths(some: Sequence[Write], runs: Mapping[str, CapturedRun], width: int) -> dict[Hook, int]:
    """How wide values are at each hook: as stored, or as given; of several prompts', the widest."""
    found = {h: width for write in some if HOOK_TABLE[h := write.site.hook].per == "model"}
    seen: set[tuple[Hook, str]] = set()
    for write in some:
        hook = write.site.hook
        if HOOK_TABLE[hook].per == "model":
            continue
        for term in terms(write.source):
            source = term.source
            if isinstance(source, FromVector):
                found[hook] = max(found.get(hook, 0), source.values.shape[-1])
            elif (hook, source.run) not in seen:
                seen.add((hook, source.run))
                held = runs[source.run].activations.get(source.hook or hook)
                found[hook] = max(found.get(hook, 0), width if held is None else held.shape[-1])
    return found


def _width_given(source: Source, width: int, hook: Hook) -> int:
    """How wide a caller's vector has to be: at some hooks that depends on its prompt."""
    assert isinstance(source, FromVector)
    return source.values.shape[-1] if HOOK_TABLE[hook].wide == "prompt" else width


def _table(n: int, widths: Mapping[Hook, int], like: Tensor) -> Tensor:
    """Room for values; zeros where some are narrower than others."""
    alike = len(set(widths.values())) < 2
    return like.new_empty(n, like.shape[-1]) if alike else like.new_zeros(n, like.shape[-1])


def _wide(values: Tensor, like: Tensor) -> Tensor:
    """Values followed by zeros, as wide as the table."""
    return F.pad(values, (0, like.shape[-1] - values.shape[-1]))


def _terms(
    some: Sequence[Write],
    each: Sequence[Source],
    runs: Mapping[str, CapturedRun],
    widths: Mapping[Hook, int],
) -> Iterator[tuple[list[int], Tensor]]:
    """What one source of each write stands for, by where it comes from: whose, [n, width]."""
    stored: dict[tuple[str, Hook], list[int]] = defaultdict(list)
    given: dict[int, list[int]] = defaultdict(list)
    for i, source in enumerate(each):
        hook = some[i].site.hook
        if isinstance(source, FromRun):
            stored[source.run, source.hook or hook].append(i)
        else:
            given[_width_given(source, widths[hook], hook)].append(i)
    for (run, hook), group in stored.items():
        yield group, _stored([(some[i].site, each[i]) for i in group], run, runs[run], hook)
    for width, group in given.items():
        vectors = [_vectors(each[i], some[i].site, width) for i in group]
        yield group, torch.from_numpy(np.concatenate(vectors))


def _stored(
    taken: Sequence[tuple[Site, Source]], run: str, held: CapturedRun, hook: Hook
) -> Tensor:
    """Stored activations at one hook of one run: [n, width]."""
    layers, heads, parts = list[int](), list[int | None](), list[tuple[int, ...]]()
    for site, source in taken:
        assert isinstance(source, FromRun)
        if len(source.positions) != len(site.positions):
            raise BadRequest(
                f"a write at {len(site.positions)} positions takes "
                f"{len(source.positions)} of run {run!r}; name one for each"
            )
        layers.append(site.layer if source.layer is None else source.layer)
        heads.append(site.head if source.head is None else source.head)
        parts.append(source.positions)
    counts = np.array([len(part) for part in parts], dtype=np.int64)
    at = [*held.indices(run, hook, layers, counts, end_to_end(parts))]
    stored = held.activations[hook]
    named = [head for head in heads if head is not None]
    if len(named) != (len(heads) if stored.ndim > 3 else 0):
        raise BadRequest(f"{hook} of run {run!r} has {'a' if stored.ndim > 3 else 'no'} head")
    if named:
        at.append(np.repeat(np.array(named, dtype=np.int64), counts))
    return stored[tuple(index_tensor(np.stack(at), stored.device))]


def _weights(
    some: Sequence[Write], widths: Mapping[Hook, int], counts: Ints, like: Tensor
) -> Tensor | None:
    """Alpha · mask of each row; None when every write replaces outright."""
    plain = all([write.mask is None for write in some])
    if plain and all([write.alpha == 1 for write in some]):
        return None
    alphas = torch.tensor([write.alpha for write in some])  # one too large is infinite, and told
    there = alphas.repeat_interleave(torch.from_numpy(counts))[:, None]
    there = there.to(like.device, non_blocking=True)
    if plain:
        return there
    width = like.shape[-1]
    ones = np.ones(width, dtype=np.float32)
    masks = [
        ones if (m := write.mask) is None else np.pad(_row(m, n), (0, width - n))
        for write in some
        for n in [widths[write.site.hook]]
    ]
    return there * torch.from_numpy(np.repeat(np.stack(masks), counts, 0)).to(like.device)


def _adds(some: Sequence[Write], counts: Ints, like: Tensor) -> Tensor | None:
    """Which rows are added to what is there; None when none is."""
    if all([write.how == "set" for write in some]):
        return None
    adds = np.repeat(np.array([write.how == "add" for write in some]), counts)
    return torch.from_numpy(adds)[:, None].to(like.device)


def _vectors(source: Source, site: Site, width: int) -> Vector:
    """What a vector source has for the positions of its write: [positions, width]."""
    assert isinstance(source, FromVector)
    values, n = source.values, len(site.positions)
    if values.ndim == 2:
        if len(values) != n:
            raise BadVectors(f"{len(values)} vectors for {n} positions")
        return np.stack([_row(row, width) for row in values]) if n else values[:, :width]
    return np.broadcast_to(_row(values, width), (n, width))


def _row(values: Vector, width: int) -> Vector:
    if values.shape != (width,):
        raise BadVectors(f"width {values.shape} != hook width {width}")
    return np.ascontiguousarray(values, dtype=np.float32)


def check_lengths(some: Sequence[Write], runs: Mapping[str, CapturedRun], trace: Trace) -> None:
    """What has one number a token is taken from prompts of one length."""
    n, wide = len(trace.tokens), [w for w in some if HOOK_TABLE[w.site.hook].wide == "prompt"]
    for write in wide:
        for term in terms(write.source):
            if isinstance(term.source, FromRun) and runs[term.source.run].n_tokens != n:
                raise BadRequest(
                    f"{write.site.hook} of run {term.source.run!r}, a prompt of "
                    f"{runs[term.source.run].n_tokens} tokens, in one of {n}: it has one weight a "
                    f"token; take a run of {n} tokens"
                )


def changes_nothing(some: Sequence[Write], sources: Sources, trace: Trace) -> Tensor:
    """For each position of each write, whether it leaves exactly what is there, unpatched."""
    current = standing(some, trace.at, sources.values)
    after = written(current, sources.values, sources.weight, sources.adds)
    return (after == current).all(-1)


def standing(some: Sequence[Write], at: Callable[[Hook], Tensor], like: Tensor) -> Tensor:
    """What stands at each position of each write, as wide as `like` and in its order.

    `at` is what a hook has, [layers, positions, …]: activations, or anything else of that shape.
    """
    current, counts = torch.empty_like(like), _counts(some)
    starts = np.cumsum(counts) - counts
    for hook in {write.site.hook for write in some}:
        group = [i for i, write in enumerate(some) if write.site.hook == hook]
        sites = [some[i].site for i in group]
        number, _ = spread(counts[group])
        layers = np.array([site.layer for site in sites], dtype=np.int64)[number]
        places = [_rows(group, starts, counts), layers, end_to_end([s.positions for s in sites])]
        if HOOK_TABLE[hook].per != "model":
            places.append(np.array([site.head for site in sites], dtype=np.int64)[number])
        where, *place = index_tensor(np.stack(places), current.device)
        current.index_copy_(0, where, _wide(at(hook)[tuple(place)], current))
    return current
