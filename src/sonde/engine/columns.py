"""Where the rows of a sweep over sites are written: a column for each position or role, or one.

Of one prompt, columns are its own positions. Of many pairs they are what all of them have: roles,
positions counted from either end, or everything together; each pair finds its own tokens for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from sonde.engine.setting import Prompts, Setting, of_edges
from sonde.errors import BadRequest, NothingToPatch
from sonde.prompts import Matching, align, has_role, resolve_positions, role_names, role_sources
from sonde.schema import HOOK_TABLE, Hook, Position, Skipped, SpanPosition
from sonde.schema.table import Axis, TablePositions

TOGETHER = "together"
ColumnKey = int | str | SpanPosition
"""A column of many pairs: a position counted from either end, a role, or text in both prompts."""


@dataclass(frozen=True)
class Column:
    """Positions of the corrupt prompt that one row writes to."""

    value: int | str
    label: str
    positions: tuple[int, ...]
    sources: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """The clean positions each takes from; empty where no prompt is the source."""


@dataclass(frozen=True)
class Columns:
    """All of them."""

    each: list[Column]
    axis: Axis | None
    """None where there is only one, of all positions."""

    @property
    def positions(self) -> list[int]:
        """All positions that are written, each once."""
        return list(dict.fromkeys(p for column in self.each for p in column.positions))


def columns_of(setting: Setting, hooks: Sequence[Hook], cells: int) -> Columns:
    """The columns of one prompt; each is one of so many cells."""
    if setting.places is not None:
        check_cells(cells * len(setting.places), setting)
        columns = [_column(setting, place) for place in setting.places]
    else:
        columns = _own_columns(setting, hooks, cells)
    _refuse_moved(setting, hooks, columns)
    return Columns(columns, _axis(columns))


def check_cells(n: int, setting: Setting) -> None:
    """The tables are neither empty nor beyond reason."""
    if not n:
        raise NothingToPatch("empty sweep: name at least one hook, layer and position")
    if n > setting.limits.cells:
        raise BadRequest(
            f"a sweep of {n} cells; at most {setting.limits.cells} are admitted: take fewer "
            "layers, heads or positions, or positions='together'"
        )


def together(setting: Setting, hooks: Sequence[Hook]) -> bool:
    """Whether all positions are written in one row: as said, or of edges, or where hooks have
    heads.
    """
    given = setting.request.positions
    if given is None:
        return of_edges(setting.request) or all(HOOK_TABLE[h].per != "model" for h in hooks)
    return given == TOGETHER


def positions_of(setting: Setting) -> list[int]:
    """The positions asked for, as numbers."""
    given = setting.request.positions
    if given is None or isinstance(given, str):
        if given == "roles":
            raise BadRequest("positions 'roles' are those of `pairs`; of one prompt, name spans")
        return list(range(len(setting.corrupt)))
    roles = [position for position in given if isinstance(position, str)]
    if roles:
        raise BadRequest(f"position {roles[0]!r} is a role of `pairs`; of one prompt, name a span")
    places = cast(list[Position], given)
    prompt = setting.prompts.corrupt
    if isinstance(prompt, str):
        return resolve_positions(places, prompt=prompt, offsets=setting.backend.offsets(prompt))
    words = [position for position in places if not isinstance(position, int)]
    if words:
        raise BadRequest(
            f"position {words[0].model_dump_json()} is words, and the prompt is tokens; give "
            "positions as numbers, or the prompt as a text"
        )
    return resolve_positions(places, prompt="", offsets=[(0, 0)] * len(setting.corrupt))


def clean_sources(setting: Setting) -> Mapping[int, tuple[int, ...]]:
    """The clean positions that each corrupt one takes, of all that take any."""
    if setting.clean is None:
        raise BadRequest("nothing to patch from: name a clean prompt")
    return align(setting.clean, setting.corrupt, pairing=setting.request.pairing).sources


def token_labels(setting: Setting, positions: Sequence[int]) -> list[str]:
    """The text of the token at each position."""
    return [setting.backend.detokenize([setting.corrupt[p]]) for p in positions]


def _own_columns(setting: Setting, hooks: Sequence[Hook], cells: int) -> list[Column]:
    positions, one = positions_of(setting), together(setting, hooks)
    check_cells(cells * (min(len(positions), 1) if one else len(positions)), setting)
    matching = _matching(setting, positions)
    if matching is not None:
        positions = _aligned(setting, positions, matching)
    sources = {} if matching is None else matching.sources
    if one:
        return [Column(TOGETHER, TOGETHER, tuple(positions), sources)]
    labels = token_labels(setting, positions)
    return [
        Column(position, label, (position,), sources)
        for position, label in zip(positions, labels, strict=True)
    ]


def _axis(columns: Sequence[Column]) -> Axis | None:
    values = [column.value for column in columns]
    if values == [TOGETHER]:
        return None
    words = any(isinstance(value, str) for value in values)
    return Axis(
        name="role" if words else "position",
        values=[str(value) for value in values] if words else values,
        labels=[column.label for column in columns],
    )


def places_of(
    given: TablePositions | None,
    hooks: Sequence[str],
    prompts: Sequence[Prompts],
    lengths: Sequence[int],
) -> tuple[list[ColumnKey], list[str]]:
    """The columns that many pairs share, and what is to be said of those left out.

    `lengths` are those of the prompts that are written to. If nothing is said: together where all
    hooks have heads, otherwise roles where there are some.
    """
    known = [HOOK_TABLE[hook].per for hook in cast(Sequence[Hook], hooks) if hook in HOOK_TABLE]
    heads = bool(known) and all(per != "model" for per in known)
    if given == TOGETHER or (given is None and heads):
        return [TOGETHER], []
    if given == "roles" or (given is None and any(each.roles for each in prompts)):
        names = list(dict.fromkeys(n for each in prompts for n in role_names(each.roles)))
        shared = [n for n in names if all(has_role(each.roles, n) for each in prompts)]
        left = [name for name in names if name not in shared]
        said = f"roles that not every pair has were left out: {', '.join(left)}"
        return list(shared), [said] if left else []
    if given is None or isinstance(given, str):
        return _from_both_ends(lengths)
    return list(given), []


def _from_both_ends(lengths: Sequence[int]) -> tuple[list[ColumnKey], list[str]]:
    shortest, longest = min(lengths), max(lengths)
    if shortest == longest:
        return list(range(shortest)), []
    half = (shortest + 1) // 2
    said = (
        f"prompts have {shortest} to {longest} tokens: positions are counted from both ends, and "
        f"up to {longest - shortest} in the middle were left out; roles would name them"
    )
    return [*range(half), *range(half - shortest, 0)], [said]


def _column(setting: Setting, place: ColumnKey) -> Column:
    """Where one of the columns that all pairs share is in this pair."""
    value = place.span if isinstance(place, SpanPosition) else place
    source = setting.request.source
    if place == TOGETHER:
        matching = _matching(setting, range(len(setting.corrupt)))
        everywhere = list(range(len(setting.corrupt)))
        if matching is not None:
            everywhere = _aligned(setting, everywhere, matching)
        sources = {} if matching is None else matching.sources
        return Column(TOGETHER, TOGETHER, tuple(everywhere), sources)
    if isinstance(place, int):
        position = place if place >= 0 else len(setting.corrupt) + place
        if not 0 <= position < len(setting.corrupt):
            raise BadRequest(f"position {place}: the prompt has {len(setting.corrupt)} tokens")
        matching = _matching(setting, [position]) if source == "clean" else None
        sources = {} if matching is None else {position: matching.sources[position]}
        return Column(place, str(place), (position,), sources)
    sources = _role(setting, place)
    if source != "clean":
        return Column(value, str(value), tuple(sources))
    return Column(value, str(value), tuple(sources), sources)


def _role(setting: Setting, place: str | SpanPosition) -> dict[int, tuple[int, ...]]:
    clean, corrupt = setting.prompts.clean, setting.prompts.corrupt
    name = place if isinstance(place, str) else place.span
    roles = setting.prompts.roles if isinstance(place, str) else {name: name}
    if not has_role(roles, name):
        raise BadRequest(f"it has no role {name!r}; it has {', '.join(role_names(roles))}")
    ends = name == "end" and "end" not in roles
    if not ends and not (isinstance(clean, str) and isinstance(corrupt, str)):
        raise BadRequest(f"role {name!r} is words, and the prompts are tokens")
    assert setting.clean is not None
    both = [
        (text, setting.backend.offsets(text)) if isinstance(text, str) else ("", [(0, 0)] * n)
        for text, n in ((clean, len(setting.clean)), (corrupt, len(setting.corrupt)))
    ]
    return role_sources(roles, name, both[0], both[1], setting.request.pairing)


def _matching(setting: Setting, positions: Sequence[int]) -> Matching | None:
    """Which clean positions each corrupt position takes; None where no prompt is the source."""
    if setting.request.source != "clean":
        return None
    if setting.clean is None:
        raise BadRequest("nothing to patch from: name a clean prompt, or source='zero'")
    matching = align(setting.clean, setting.corrupt, pairing=setting.request.pairing)
    if not any(position in matching.sources for position in positions):
        raise NothingToPatch(
            "no alignable positions: the prompts share none of the requested tokens; pass pairing "
            "('last', 'first', 'proportional' or 'mean')"
        )
    setting.alignment = matching.alignment
    return matching


def _aligned(setting: Setting, positions: list[int], matching: Matching) -> list[int]:
    left_out = [position for position in positions if position not in matching.sources]
    setting.skipped += [Skipped(position=p, reason=matching.reasons[p]) for p in left_out]
    if left_out:
        setting.warnings.append(
            f"{len(left_out)} of {len(positions)} positions have no counterpart in the clean "
            f"prompt and were left out (pairing {matching.alignment.pairing!r}); 'proportional' "
            "and 'mean' give every position one"
        )
    return [position for position in positions if position in matching.sources]


def _refuse_moved(setting: Setting, hooks: Sequence[Hook], columns: Sequence[Column]) -> None:
    """Queries, keys and patterns are those of their own position: elsewhere they mean another."""
    staying = [hook for hook in hooks if HOOK_TABLE[hook].stays]
    if not staying or setting.request.source != "clean":
        return
    assert setting.clean is not None
    if len(setting.clean) != len(setting.corrupt):
        raise BadRequest(
            f"{staying[0]} holds for its own position, and the prompts have {len(setting.clean)} "
            f"and {len(setting.corrupt)} tokens; give prompts of one length, or leave it out "
            "(z and v may be moved)"
        )
    for column in columns:
        moved = [p for p in column.positions if list(column.sources[p]) != [p]]
        if moved:
            raise BadRequest(
                f"{staying[0]} holds for its own position, and position {moved[0]} would take that "
                f"of {list(column.sources[moved[0]])}; leave {staying[0]} out, or the pairing"
            )
