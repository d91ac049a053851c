"""Which clean token each corrupt token is patched from.

Prompts of one length pair position by position. Otherwise:

1. **Prefix**: the longest run of equal tokens at the start pairs as it is.
2. **Suffix**: the longest run of equal tokens at the end, not reaching into the prefix of the
   shorter prompt, pairs shifted by the difference in length.
3. **Middle**: what lies between has no counterpart by itself. `pairing` says what to do with it;
   `strict`, the default, leaves it out.

Deliberately not an edit distance: a best guess inside the middle would patch from the wrong token
and look like a result. Who wants the middle paired chooses how, and the summary repeats it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde.errors import BadRequest, PositionOutOfRange
from sonde.schema import Alignment, Pairing


@dataclass(frozen=True)
class Matching:
    """For every corrupt position, its clean positions or the reason why it has none."""

    sources: Mapping[int, tuple[int, ...]]
    """One clean position as a rule; of several, the mean is meant."""
    reasons: Mapping[int, str]
    alignment: Alignment
    """The same for the wire."""


@dataclass(frozen=True)
class _Middle:
    """What lies between prefix and suffix: where it starts, and how long it is in each prompt."""

    start: int
    n_clean: int
    n_corrupt: int


def align(clean: Sequence[int], corrupt: Sequence[int], *, pairing: Pairing = "strict") -> Matching:
    """Pair the tokens of two prompts, special tokens included."""
    prefix, suffix = _shared(clean, corrupt)
    middle = _Middle(prefix, len(clean) - prefix - suffix, len(corrupt) - prefix - suffix)

    shift = len(clean) - len(corrupt)
    paired = _pair_middle(middle, pairing)
    sources = {
        **{p: (p,) for p in range(prefix)},
        **paired,
        **{p: (p + shift,) for p in range(len(corrupt) - suffix, len(corrupt))},
    }
    reason = _reason(middle, pairing)
    reasons = {p: reason for p in range(len(corrupt)) if p not in sources}
    alignment = Alignment(
        n_clean=len(clean),
        n_corrupt=len(corrupt),
        prefix_len=prefix,
        suffix_len=suffix,
        unaligned_positions=list(reasons),
        pairing=pairing,
        paired=_listed(paired),
    )
    return Matching(sources=sources, reasons=reasons, alignment=alignment)


def pair_span(n_clean: int, n_corrupt: int, pairing: Pairing) -> dict[int, tuple[int, ...]]:
    """Pair the tokens of a span in one prompt with those of its counterpart, from 0.

    Of one length one to one; otherwise as `pairing` says, under `strict` none.
    """
    if n_clean == n_corrupt:
        return {index: (index,) for index in range(n_corrupt)}
    return _pair_middle(_Middle(0, n_clean, n_corrupt), pairing)


def pair_explicitly(
    positions: Sequence[int], source_positions: Sequence[int], *, n_clean: int, n_corrupt: int
) -> Matching:
    """Pair each resolved position with the clean position the caller names for it.

    The prompts are not compared, so prefix and suffix are 0 and nothing is unaligned: a position
    that was not asked for is not a failure. One position with two different sources is refused,
    because a cell is known by its position and two cells would carry one name.
    """
    if len(positions) != len(source_positions):
        raise BadRequest(
            f"source_positions resolve to {len(source_positions)} tokens and positions to "
            f"{len(positions)}; give one clean position for each position, or choose a `pairing`"
        )
    _check_range(positions, n_corrupt, prompt="prompt")
    _check_range(source_positions, n_clean, prompt="clean prompt")
    sources: dict[int, tuple[int, ...]] = {}
    for position, source in zip(positions, source_positions, strict=True):
        if sources.setdefault(position, (source,)) != (source,):
            raise BadRequest(
                f"position {position} is given two clean positions, {sources[position][0]} and "
                f"{source}; list it once, or sweep twice"
            )
    alignment = Alignment(
        n_clean=n_clean,
        n_corrupt=n_corrupt,
        prefix_len=0,
        suffix_len=0,
        unaligned_positions=[],
        paired=_listed(sources),
    )
    return Matching(sources=sources, reasons={}, alignment=alignment)


def _shared(clean: Sequence[int], corrupt: Sequence[int]) -> tuple[int, int]:
    """Length of the common prefix and suffix. Of prompts of one length, all is prefix."""
    if len(clean) == len(corrupt):
        return len(clean), 0
    shorter = min(len(clean), len(corrupt))
    prefix = _equal_at_start(clean, corrupt, shorter)
    return prefix, _equal_at_start(clean[::-1], corrupt[::-1], shorter - prefix)


def _equal_at_start(one: Sequence[int], other: Sequence[int], limit: int) -> int:
    """How many tokens agree from the start on, `limit` at most."""
    length = 0
    while length < limit and one[length] == other[length]:
        length += 1
    return length


def _pair_middle(middle: _Middle, pairing: Pairing) -> dict[int, tuple[int, ...]]:
    """The corrupt positions of the middle that `pairing` gives a source."""
    paired: dict[int, tuple[int, ...]] = {}
    for index in range(middle.n_corrupt):
        chosen = _middle_sources(index, middle, pairing)
        if chosen:
            paired[middle.start + index] = tuple(middle.start + source for source in chosen)
    return paired


def _middle_sources(index: int, middle: _Middle, pairing: Pairing) -> Sequence[int]:
    """Clean tokens for corrupt token `index`, both counted from the start of the middle."""
    n_clean, n_corrupt = middle.n_clean, middle.n_corrupt
    if pairing == "mean":
        return range(n_clean)
    if pairing == "first":
        return [index] if index < n_clean else []
    if pairing == "last":
        source = index - n_corrupt + n_clean
        return [source] if source >= 0 else []
    if pairing == "proportional":
        return [(2 * index + 1) * n_clean // (2 * n_corrupt)] if n_clean else []
    return []


def _reason(middle: _Middle, pairing: Pairing) -> str:
    """Why a token of the middle has no source, and what would give it one."""
    found = (
        f"the prompts differ here, {middle.n_clean} clean token(s) against {middle.n_corrupt}, "
        "so this token has no counterpart"
    )
    if middle.n_clean == 0:
        return f"{found}; name one with `source_positions`"
    if pairing == "strict":
        return (
            f"{found}; choose a `pairing` (first, last, proportional, mean) or `source_positions`"
        )
    return f"{found} under pairing {pairing!r}; 'proportional' and 'mean' leave none out"


def _listed(paired: Mapping[int, tuple[int, ...]]) -> list[tuple[int, list[int]]]:
    return [(position, list(paired[position])) for position in sorted(paired)]


def _check_range(positions: Sequence[int], n_tokens: int, *, prompt: str) -> None:
    for position in positions:
        if not 0 <= position < n_tokens:
            raise PositionOutOfRange(position, n_tokens, prompt=prompt)
