"""Many completions at once, each with the tokens that it has alone.

1. **Prompts**  go through the model packed end to end, as many as fit, and leave keys and values.
2. **Steps**    every completion that goes on has one more row, and sees its own keys alone.
3. **Draws**    each has a generator of its own, so its draws do not hang on who is beside it.

Rows, blocks and masks are those of every other packed run, so a completion has the bits of
`generate`. What an edit adds is asked anew in every pass, of the rows as they pass.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import torch
from torch import Tensor

from sonde.backends import giving_up
from sonde.backends.base import GenerateRequest
from sonde.backends.edit import Edit, Ints, Passing, Sampled
from sonde.backends.torch.choosing import choose
from sonde.backends.torch.generate import Last, leave
from sonde.backends.torch.layout import LayerSites
from sonde.backends.torch.packed.cells import PlacedWrite, Sources, place
from sonde.backends.torch.packed.plan import KeysValues, RowPlan, block_size, using
from sonde.backends.torch.packed.rows import index_tensor
from sonde.backends.torch.packed.segments import Segments
from sonde.backends.torch.packed.writes import Writes, applied, write_entering
from sonde.backends.torch.path import Path
from sonde.errors import BadRequest, EngineError, HookNeverFired
from sonde.schema import Hook

LOGITS: Final = 64
"""Completions whose distributions exist at a time."""


@dataclass(eq=False)
class _Sequence:
    """One completion under way."""

    number: int
    request: GenerateRequest
    tokens: list[int]
    base: int
    """The row of its position 0 among all keys."""
    generator: torch.Generator
    placed: list[PlacedWrite]
    known: int = 0
    """Tokens that have keys."""

    @property
    def room(self) -> int:
        """Rows of keys it may need."""
        return len(self.request.tokens) + self.request.max_tokens


class _Cache:
    """Keys and values of all sequences, per layer, each sequence in rows of its own."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.layers: list[KeysValues] = []

    def keep(self, plan: RowPlan, rows: Tensor) -> None:
        """What a pass has just computed, into these rows."""
        for layer in range(len(plan.recorded)):
            new = plan.recorded[layer]
            if len(self.layers) == layer:
                self.layers.append(KeysValues(*(self._room(t) for t in (new.keys, new.values))))
            held = self.layers[layer]
            held.keys.index_copy_(0, rows, new.keys[: len(rows)])
            held.values.index_copy_(0, rows, new.values[: len(rows)])

    def _room(self, like: Tensor) -> Tensor:
        return like.new_zeros(self.n_rows, *like.shape[1:])


def side_by_side(
    path: Path, asked: Sequence[GenerateRequest], sources: Sources, edit: Edit | None, budget: int
) -> Iterator[list[Sampled]]:
    """All completions, as many at a time as have their keys within `budget` bytes."""
    if path.name != "packed":
        raise BadRequest(
            f"completions side by side need the packed path, and this model has not got it: "
            f"{path.reason}"
        )
    waiting = _sequences(path, asked)
    per_row = _bytes_a_row(path)
    together = 1 if not path.mixes else None
    while waiting:
        size = _fitting([one.room * per_row for one in waiting], budget, together)
        yield from _batch(path, waiting[:size], sources, edit)
        waiting = waiting[size:]


def _sequences(path: Path, asked: Sequence[GenerateRequest]) -> list[_Sequence]:
    out, source = [], 0
    for number, request in enumerate(asked):
        here = [each for write in place(request.writes) for each in write.one_by_one()]
        placed = [each._replace(source=source + each.source) for each in here]
        source += len(here)
        generator = torch.Generator(device=path.model.device).manual_seed(request.seed)
        out.append(_Sequence(number, request, list(request.tokens), 0, generator, placed))
    return out


def _bytes_a_row(path: Path) -> int:
    shape = path.layout.heads
    assert shape is not None, "packed attention knows its heads"
    width = shape.kv_heads * (shape.key_width + shape.value_width)
    size: int = path.model.dtype.itemsize
    return width * len(path.layout.sites) * size


def _fitting(sizes: Sequence[int], budget: int, most: int | None) -> int:
    """How many of the first fit; one at the least."""
    within = int(np.searchsorted(np.cumsum(sizes), budget, side="right"))
    return max(1, within if most is None else min(within, most))


def _batch(
    path: Path, sequences: list[_Sequence], sources: Sources, edit: Edit | None
) -> Iterator[list[Sampled]]:
    """Complete some prompts, all of their keys in memory."""
    offsets = np.cumsum([0, *(one.room for one in sequences)]).tolist()
    for one, base in zip(sequences, offsets, strict=False):
        one.base = base
    cache = _Cache(offsets[-1])
    going = list(sequences)
    while going:
        ended, left = [], []
        for some in _passes(going, path.shape.most):
            path.attend()
            final = _forward(path, some, cache, sources, edit)
            over = _drawn(path, some, final)
            ended += [Sampled(one.number, _said(one)) for one in some if one.number in over]
            left += [one for one in some if one.number not in over]
            yield ended
            ended = []
        going = left


def _said(one: _Sequence) -> tuple[int, ...]:
    return tuple(one.tokens[len(one.request.tokens) :])


def _passes(going: Sequence[_Sequence], most: int) -> Iterator[list[_Sequence]]:
    """As many at once as a pass has rows for at full speed."""
    some: list[_Sequence] = []
    rows = 0
    for one in going:
        n = len(one.tokens) - one.known
        if some and rows + n > most:
            yield some
            some, rows = [], 0
        some.append(one)
        rows += n
    yield some


def _drawn(path: Path, some: Sequence[_Sequence], final: Tensor) -> set[int]:
    """Give each its next token. -> those that have ended"""
    over = set()
    for start in range(0, len(some), LOGITS):
        part = some[start : start + LOGITS]
        with torch.inference_mode():
            logits, normaliser = path.unembedding.distribution(final[start : start + LOGITS])
            if not bool(torch.isfinite(normaliser).all()):
                raise EngineError(
                    "log-probabilities of a completion are not finite: what is written is too "
                    "large for this model, or its dtype too narrow"
                )
            for one, row in zip(part, logits, strict=True):
                token = choose(row, one.request, one.tokens, one.generator)
                one.tokens.append(token)
                said = len(one.tokens) - len(one.request.tokens)
                if token in one.request.stop_ids or said == one.request.max_tokens:
                    over.add(one.number)
    return over


def _forward(
    path: Path, some: Sequence[_Sequence], cache: _Cache, sources: Sources, edit: Edit | None
) -> Tensor:
    """Run what each has no keys for yet. -> the last residual of each: [sequences, width]"""
    model, layout, device = path.model, path.layout, path.model.device
    starts = [one.known for one in some]
    ends = [len(one.tokens) for one in some]
    segments = Segments(
        starts,
        ends,
        block=block_size(device, max(ends)),
        device=device,
        prefixes=np.array([one.base for one in some]),
        n_prefix=cache.n_rows if cache.layers else 0,
    )
    n = segments.n_rows
    plan = RowPlan(
        layout.layer_of, segments.blocks(len(some)), n, cache.layers or None, record=True
    )
    spare = path.shape.padded(n) - n
    ids = [token for one in some for token in one.tokens[one.known :]]
    sequence = np.repeat([one.number for one in some], np.subtract(ends, starts))
    position = np.concatenate([np.arange(a, b) for a, b in zip(starts, ends, strict=True)])
    with ExitStack() as stack, using(plan), torch.inference_mode():
        writes = _writes(some, segments, sources)
        for layer, site in enumerate(layout.sites):
            stack.callback(site.tap("pre_attn").watch(_wanted).remove)
            _install(stack, site, writes.pop(layer, {}))
        edited = _EditInPass(edit, sequence, position)
        edited.install(stack, layout.sites)
        stack.callback(layout.sites[-1].tap("post_block").watch(leave).remove)
        try:
            model(
                input_ids=index_tensor([*ids, *[ids[-1]] * spare], device)[None],
                position_ids=index_tensor([*position.tolist(), *[0] * spare], device)[None],
                use_cache=False,
            )
        except Last as last:
            edited.check()
            residual = last.residual.view(-1, last.residual.shape[-1])[:n].clone()
            for write in writes.pop(len(layout.sites), {}).values():
                write.apply(residual)
            cache.keep(plan, segments.trace_rows)
            for one in some:
                one.known = len(one.tokens)
            return residual[segments.last_rows(len(some))]
    raise AssertionError("the last layer did not run")


def _wanted(_entering: Tensor) -> None:
    giving_up.check()


def _writes(
    some: Sequence[_Sequence], segments: Segments, sources: Sources
) -> dict[int, dict[Hook | None, Writes]]:
    """What is written in this pass, by the layer that it enters."""
    grouped: defaultdict[tuple[int, Hook | None], list[tuple[int, int]]] = defaultdict(list)
    for place_, one in enumerate(some):
        for patch in one.placed:
            (at,) = patch.positions
            if one.known <= at < len(one.tokens):
                grouped[patch.layer, patch.inside].append((segments.row(place_, at), patch.source))
    out: defaultdict[int, dict[Hook | None, Writes]] = defaultdict(dict)
    for (layer, inside), edits in grouped.items():
        out[layer][inside] = sources.writes(
            [row for row, _ in edits], [which for _, which in edits]
        )
    return out


def _install(stack: ExitStack, site: LayerSites, writes: dict[Hook | None, Writes]) -> None:
    """Until the stack closes, a layer makes these writes."""
    entering = writes.pop(None, None)
    if entering is not None:
        stack.enter_context(write_entering(site, entering))
    inside: dict[Hook, Writes] = {hook: some for hook, some in writes.items() if hook is not None}
    if inside:
        stack.enter_context(applied(site, inside))


class _EditInPass:
    """An edit in one pass: it must have been made once."""

    def __init__(self, edit: Edit | None, sequence: Ints, position: Ints) -> None:
        self._edit, self._sequence, self._position = edit, sequence, position
        self._read: Tensor | None = None
        self._count = 0

    def install(self, stack: ExitStack, sites: Sequence[LayerSites]) -> None:
        """Read and write where the edit says, until the stack closes."""
        edit = self._edit
        if edit is None:
            return
        reads, writes = (sites[edit.layer].tap(hook) for hook in (edit.reads, edit.writes))
        stack.callback(reads.watch(self._note).remove)
        stack.callback(writes.rewrite(partial(self._change, in_place=writes.may_write)).remove)

    def _note(self, given: Tensor) -> None:
        self._read = given.view(-1, given.shape[-1])[: len(self._position)].float().cpu()

    def _change(self, given: Tensor, *, in_place: bool) -> Tensor:
        assert self._edit is not None
        if self._read is None:
            raise HookNeverFired(
                f"{self._edit.writes} comes before {self._edit.reads}, so what is read there "
                "cannot say what is written"
            )
        rows = np.array(self._read.numpy())
        added = torch.from_numpy(self._edit.added(Passing(rows, self._sequence, self._position)))
        target = given if in_place else given.clone()
        view = target.view(-1, target.shape[-1])[: len(added)]
        view += added.to(view)
        self._count += 1
        return target

    def check(self) -> None:
        """It was made."""
        if self._edit is not None and self._count != 1:
            raise HookNeverFired(
                f"an edit at {self._edit.writes}, layer {self._edit.layer}, was made "
                f"{self._count} times in one pass; it has to be made once"
            )
