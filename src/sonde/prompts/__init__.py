"""From text to token positions: spans, alignment, and prompt pairs to try."""

from sonde.prompts.align import Matching, align, pair_explicitly
from sonde.prompts.digest import prompt_digest
from sonde.prompts.pairs import PAIRS, DemoPair, demo_pair
from sonde.prompts.roles import has_role, role_names, role_sources
from sonde.prompts.spans import (
    Span,
    expand_positions,
    find_matches,
    offsets_by_decoding,
    resolve_positions,
    tokens_overlapping,
)

__all__ = [
    "PAIRS",
    "Matching",
    "DemoPair",
    "Span",
    "align",
    "expand_positions",
    "find_matches",
    "has_role",
    "offsets_by_decoding",
    "pair_explicitly",
    "prompt_digest",
    "demo_pair",
    "resolve_positions",
    "role_names",
    "role_sources",
    "tokens_overlapping",
]
