r"""How byte-level tokenizers cut text into words before they merge, by the names GGUF files use.

A GGUF file names its rule and does not hold it, so a reader has to know the rule. A name
that is not here is refused: under another rule nearly every text still has tokens, and they are
wrong where it counts, at numbers, apostrophes and white space.

Patterns are applied in turn, each to what the one before it left, and cut out what they match.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tokenizers import Regex, pre_tokenizers

WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
DIGIT = r"\p{N}"

_SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACE = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CASED = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+%s",
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*%s",
)

THREE_DIGITS = (
    rf"{_SHORT}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*{_SPACE}"
)
ONE_DIGIT = (
    rf"{_SHORT}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*{_SPACE}"
)
WITH_MARKS = (
    rf"{_SHORT}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}"
    rf"| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*{_SPACE}"
)
BY_CASE = "|".join(part % "" for part in _CASED) + (
    rf"|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{_SPACE}"
)
BY_CASE_AND_SHORT = "|".join(part % f"{_SHORT}?" for part in _CASED) + (
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{_SPACE}"
)


@dataclass(frozen=True)
class Rule:
    """How text is cut, and what goes with that name when a file does not say otherwise."""

    patterns: tuple[str, ...]
    whole_words: bool = False
    """A word that is a token is taken as that, however its merges would go."""
    adds_bos: bool = False

    def words(self, text: str) -> list[str]:
        """The text, cut."""
        pieces = [text]
        for pattern in self.patterns:
            cut = pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str
            pieces = [word for piece in pieces for word, _ in cut(piece)]
        return pieces

    def pre_tokenizer(self, *, space_prefix: bool = False) -> pre_tokenizers.PreTokenizer:
        """The library's object for it, which also spells bytes as letters.

        A space is put before a text that begins without one only where nothing cuts it first.
        """
        if self.patterns == (WORDS,):
            return pre_tokenizers.ByteLevel(add_prefix_space=space_prefix)
        assert not space_prefix
        if self.patterns == (DIGIT, WORDS):
            digits = pre_tokenizers.Digits(individual_digits=True)
            spell = pre_tokenizers.ByteLevel(add_prefix_space=False)
            return pre_tokenizers.Sequence([digits, spell])
        cuts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in self.patterns]
        spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        return pre_tokenizers.Sequence([*cuts, spell])


def _named() -> dict[str, Rule]:
    of = {
        "gpt-2 phi-2 olmo mpt jais exaone4 trillion": Rule((WORDS,)),
        "smollm starcoder refact command-r codeshell exaone minerva-7b": Rule((DIGIT, WORDS)),
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2": Rule(
            (THREE_DIGITS,), whole_words=True, adds_bos=True
        ),
        "dbrx smaug-bpe": Rule((THREE_DIGITS,)),
        "qwen2 deepseek-r1-qwen stablelm2 megrez": Rule((ONE_DIGIT,)),
        "qwen35": Rule((WITH_MARKS,)),
        "tekken": Rule((BY_CASE,), whole_words=True, adds_bos=True),
        "gpt-4o llama4": Rule((BY_CASE_AND_SHORT,)),
    }
    return {name: rule for names, rule in of.items() for name in names.split()}


RULES: Mapping[str, Rule] = MappingProxyType(_named())
