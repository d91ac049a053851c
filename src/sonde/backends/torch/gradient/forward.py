"""One forward pass of whole prompts with its graph kept, and the gradient at the sites it passed.

The pass begins at what enters the first layer, so that what the embeddings are can be said: those
of a prompt, or a point between two prompts'. Only activations have gradients; weights have none.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from sonde.backends.base import Column, Readout
from sonde.backends.torch.gradient.attention import Noted, noting
from sonde.backends.torch.hooking import Tap, watch_call
from sonde.backends.torch.packed.readouts import Distribution
from sonde.backends.torch.path import Path
from sonde.errors import BadRequest, HookNeverFired
from sonde.schema import HOOK_TABLE, Hook

HookAt = tuple[Hook, int]
"""A hook and a layer."""
Against = Callable[[tuple[int, ...]], Distribution]


class _Done(Exception):
    """Raised after the last layer: what follows is done by the unembedding."""


@contextmanager
def with_gradients() -> Iterator[None]:
    """Inside the block graphs are kept for all callers."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


def apart(tap: Tap) -> Tap:
    """The same place, where what is put down is read by this module alone."""
    return replace(tap, is_stream=False)


@dataclass(frozen=True)
class Passed:
    """What one forward pass showed."""

    at: dict[HookAt, Tensor]
    """[prompts, positions, width]; at heads [prompts, heads, positions, width]."""
    final: Tensor
    """After the last layer."""
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    """What each layer was called with, besides the stream."""

    def gradients(self, value: Tensor, places: Sequence[HookAt], *, keep: bool) -> list[Tensor]:
        """Of one number, at each place, [prompts, positions, …]; 0 where it hangs on none."""
        found: Sequence[Tensor | None] = [None] * len(places)
        if value.requires_grad:
            given = [self.at[place] for place in places]
            found = torch.autograd.grad(value, given, retain_graph=keep, allow_unused=True)
        out = []
        for place, gradient in zip(places, found, strict=True):
            known = torch.zeros_like(self.at[place]) if gradient is None else gradient.detach()
            out.append(known if HOOK_TABLE[place[0]].per == "model" else known.transpose(1, 2))
        return out


def entering(path: Path, tokens: Sequence[int]) -> Tensor:
    """What enters the first layer: [1, positions, width]."""
    found: list[Tensor] = []

    def note(value: Tensor) -> None:
        found.append(value.detach().clone())
        raise _Done

    handle = path.layout.sites[0].tap("pre_attn").watch(note)
    ids = torch.tensor([list(tokens)], device=path.model.device)
    try:
        with torch.no_grad(), noting(path.model, Noted(path.layout.layer_of)):
            path.model(input_ids=ids, use_cache=False)
    except _Done:
        return found[0]
    finally:
        handle.remove()
    raise HookNeverFired("the first layer was not reached")


def run(
    path: Path,
    tokens: Sequence[int],
    start: Tensor,
    places: Collection[HookAt],
    branches: Collection[tuple[HookAt, Tap]] = (),
) -> Passed:
    """Run prompts from what enters the first layer, `start` [prompts, positions, width].

    `tokens` are any of their length: models look at them for no more than that. At `branches` what
    one module receives is noted apart from what everything else receives there.
    """
    layout, at = path.layout, dict[HookAt, Tensor]()
    leaf = start.detach().clone().requires_grad_()
    heads = frozenset(p for p in places if HOOK_TABLE[p[0]].attention is not None)
    noted = Noted(layout.layer_of, heads)
    final: list[Tensor] = []
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def note(place: HookAt, value: Tensor) -> None:
        at[place] = value

    def note_call(args: Any, kwargs: Any) -> None:
        calls.append((args[1:], {k: v for k, v in kwargs.items() if k != "hidden_states"}))

    def part(place: HookAt, value: Tensor) -> Tensor:
        at[place] = value.view_as(value)
        return at[place]

    def stop(value: Tensor) -> None:
        final.append(value)
        raise _Done

    ids = torch.tensor([list(tokens)] * len(start), device=path.model.device)
    with ExitStack() as stack, with_gradients(), noting(path.model, noted):
        first = apart(layout.sites[0].tap("pre_attn"))
        stack.callback(first.rewrite(lambda _given: leaf).remove)
        for site in layout.sites:
            stack.callback(watch_call(site.layer, note_call).remove)
        taps = {place: layout.sites[place[1]].tap(place[0]) for place in set(places) - heads}
        shared = {place for place, tap in taps.items() if tap.side == "returns" or tap.is_stream}
        for place in shared:  # before anything else stands in the place of what they see
            stack.callback(taps[place].watch(partial(note, place)).remove)
        for place in taps.keys() - shared:
            stack.callback(taps[place].rewrite(partial(part, place)).remove)
        for place, tap in branches:
            stack.callback(apart(tap).rewrite(partial(part, place)).remove)
        stack.callback(layout.sites[-1].tap("post_block").watch(stop).remove)
        try:
            path.model(input_ids=ids, use_cache=False)
        except _Done:
            at |= noted.at
            missing = [place for place in places if place not in at]
            if missing:
                hook, layer = missing[0]
                raise HookNeverFired(f"{hook} was not reached in layer {layer}") from None
            return Passed(at, final[0], calls)
    raise HookNeverFired("the last layer was not reached")


def read(path: Path, final: Tensor, readout: Readout, n: int, against: Against) -> list[Tensor]:
    """The readout's columns of prompts of `n` tokens, with their gradients: [prompts] each."""
    asked = readout.columns
    with with_gradients():
        if all(column.quantity == "logit" for column in asked):
            ids = list(dict.fromkeys(_token(column) for column in asked))
            at = {
                p: _unembed(path, final, p, ids) for p in {column.position % n for column in asked}
            }
            return [at[c.position % n][:, ids.index(_token(c))] for c in asked]
        whole = {p: _unembed(path, final, p) for p in {column.position % n for column in asked}}
        return [_one(column, whole[column.position % n], against) for column in asked]


def _unembed(path: Path, final: Tensor, at: int, ids: Sequence[int] | None = None) -> Tensor:
    return path.unembedding.with_gradient(final[:, at], ids)


def _one(column: Column, logits: Tensor, against: Against) -> Tensor:
    """One number of each prompt, of its whole distribution [prompts, vocabulary]."""
    if column.quantity == "logit":
        return logits[:, _token(column)]
    logprobs = torch.log_softmax(logits, -1)
    if column.quantity == "logprob":
        return logprobs[:, _token(column)]
    if column.quantity == "kl":
        assert column.against is not None
        other = against(column.against)
        known = (other.logits - other.normaliser).clone()  # made for inference: a graph keeps none
        weight = known.exp()
        apart_by = torch.where(weight > 0, known - logprobs, 0.0)
        return (weight * apart_by).sum(-1)
    raise BadRequest(
        f"{column.quantity} changes in steps and has no slope; score its rows exactly instead"
    )


def _token(column: Column) -> int:
    assert column.token is not None
    return column.token
