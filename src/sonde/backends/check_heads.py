"""What is wrong with writes at hooks of heads, before anything runs.

Values of heads are of several widths, and a chunk holds them side by side, narrow ones followed by
zeros that nobody reads. So whether a value fits is asked here, once, of its own hook.
"""

from collections.abc import Sequence

import numpy as np

from sonde.backends.base import FromRun, FromSenders, FromVector, Site, Vector, Write
from sonde.backends.spots import terms
from sonde.errors import BadRequest, BadVectors, HeadOutOfRange
from sonde.schema import HOOK_TABLE, Hook, ModelDescription


def check_head(hook: Hook, head: int | None, model: ModelDescription) -> None:
    """A head is named where a hook has heads, and there is such a one."""
    if HOOK_TABLE[hook].per == "model":
        if head is not None:
            raise BadRequest(f"{hook} has no heads, and head {head} was named; leave it out")
        return
    assert model.heads is not None, "only models with heads have hooks of heads"
    n = model.heads.count(hook)
    if head is None:
        raise BadRequest(f"{hook} has a value for each head; name one of 0 to {n - 1}")
    if not 0 <= head < n:
        raise HeadOutOfRange(hook, head, n, model.heads.heads)


def check_heads(writes: Sequence[Write], model: ModelDescription, n_positions: int) -> None:
    """Heads and readers exist, and values are as wide as what they take the place of."""
    places = [(write.site.hook, write.site.head, write.site.readers) for write in writes]
    for hook, head, readers in dict.fromkeys(places):
        check_head(hook, head, model)
        _check_readers(hook, head, readers, model)
    seen: set[tuple[object, ...]] = set()
    for write in writes:
        site, source = write.site, write.source
        if isinstance(source, FromRun) and write.mask is None:  # nearly always: thousands
            taken: Hook = source.hook or site.hook
            if taken == site.hook and source.head is None and not HOOK_TABLE[taken].stays:
                continue
        key = (site.hook, site.positions, id(source), id(write.mask))
        if key not in seen:
            seen.add(key)
            _check_values(write, model, n_positions)


def check_readers_apart(writes: Sequence[Write]) -> None:
    """A row that writes keys for some readers alone writes nothing before, and nothing beside them.

    The other heads are given what they have in the unpatched run, so nothing else may reach them.
    """
    own = [write.site for write in writes if write.site.readers is not None]
    if not own:
        return
    layer, of = own[0].layer, dict[int | None, tuple[int, ...]]()
    for site in [write.site for write in writes]:
        later = site.layer > layer and site.readers is None
        beside = site.layer == layer and site.readers is not None
        alike = site.readers is None or of.setdefault(site.head, site.readers) == site.readers
        if not later and not (beside and alike):
            raise BadRequest(
                f"{_named(site)} in a row that writes {_named(own[0])}: what some readers alone "
                "see stands alone in its row up to its layer; take a row of its own, or no readers"
            )


def _named(site: Site) -> str:
    head = "" if site.head is None else f" head {site.head}"
    readers = "" if site.readers is None else f" for readers {list(site.readers)}"
    return f"{site.hook} of layer {site.layer}{head}{readers}"


def _check_readers(
    hook: Hook, head: int | None, readers: tuple[int, ...] | None, model: ModelDescription
) -> None:
    """Only keys and values have readers, and only those of their own group."""
    if readers is None:
        return
    if HOOK_TABLE[hook].per != "kv_head" or model.heads is None:
        raise BadRequest(f"{hook} is read by no other heads; leave the readers out")
    for reader in readers:
        if not 0 <= reader < model.heads.heads or model.heads.group(reader) != head:
            raise BadRequest(f"query head {reader} does not read {hook} of key head {head}")


def _check_values(write: Write, model: ModelDescription, n_positions: int) -> None:
    site, width = write.site, _width(write.site.hook, model, n_positions)
    if isinstance(write.source, FromSenders):
        return  # made at this very site
    apart = HOOK_TABLE[site.hook].per != "model"  # other vectors are measured where they are used
    if apart and write.mask is not None and write.mask.shape != (width,):
        raise BadVectors(f"mask of width {write.mask.shape} != width {width} of {site.hook}")
    for term in terms(write.source):
        source = term.source
        if isinstance(source, FromVector):
            if apart and source.values.shape[-1:] != (width,):
                raise BadVectors(f"width {source.values.shape} != width {width} of {site.hook}")
            if HOOK_TABLE[site.hook].wide == "prompt":
                _check_causal(source.values, site.positions)
            continue
        taken = source.hook or site.hook
        if taken != site.hook:
            _check_taken(taken, site.hook, model)
        if taken != site.hook or source.head is not None:
            check_head(taken, site.head if source.head is None else source.head, model)
        if HOOK_TABLE[site.hook].wide == "prompt":
            for position, at in zip(site.positions, source.positions, strict=False):
                if at > position:
                    raise BadRequest(
                        f"{site.hook} of position {at} written at position {position}, which sees "
                        f"no key after itself; take that of position {position}"
                    )


def _width(hook: Hook, model: ModelDescription, n_positions: int) -> int:
    if HOOK_TABLE[hook].per == "model":
        return model.width
    assert model.heads is not None
    return model.heads.width(hook, n_positions)


def _check_causal(values: Vector, positions: Sequence[int]) -> None:
    """No weight on keys that a position cannot see."""
    for which, position in enumerate(positions):
        row = values if values.ndim == 1 else values[which] if which < len(values) else values[0]
        if np.any(row[position + 1 :]):
            raise BadVectors(
                f"a pattern at position {position} with weight on a later key; it sees the keys "
                f"0 to {position} and no others"
            )


def _check_taken(taken: Hook, hook: Hook, model: ModelDescription) -> None:
    """What one hook has can stand at another."""
    there, here = (_width(each, model, 0) for each in (taken, hook))
    wide = HOOK_TABLE[taken].wide == "prompt", HOOK_TABLE[hook].wide == "prompt"
    heads = HOOK_TABLE[taken].per == "model", HOOK_TABLE[hook].per == "model"
    if there != here or len(set(wide)) > 1 or len(set(heads)) > 1:
        raise BadRequest(f"{taken} cannot stand at {hook}: they are not of one width")
