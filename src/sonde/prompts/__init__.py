"""From text to token positions: spans, alignment, and prompt pairs to try."""

from sonde.prompts.align import Pairs, align, pair_explicitly
from sonde.prompts.digest import prompt_digest
from sonde.prompts.pairs import PAIRS, PromptPair, prompt_pair
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
    "Pairs",
    "PromptPair",
    "Span",
    "align",
    "expand_positions",
    "find_matches",
    "offsets_by_decoding",
    "pair_explicitly",
    "prompt_digest",
    "prompt_pair",
    "resolve_positions",
    "tokens_overlapping",
]
