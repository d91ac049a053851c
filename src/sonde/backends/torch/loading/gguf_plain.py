"""Text to tokens by a GGUF file's own words, slowly and plainly: what a fast tokenizer is held to.

1. **Part** the text at the tokens that are taken whole, longest first.
2. **Spell** what lies between as the vocabulary does: bytes as letters, or spaces as a low line.
3. **Merge** neighbours, the best pair first, until no pair is left.
4. **Look up** what remains; what has no token of its own is spelled in bytes.

Quadratic, and good for the short texts that a tokenizer is compared on.
"""

from collections.abc import Callable, Iterator
from functools import cached_property

from sonde.backends.torch.loading.gguf_tokens import BYTE, CONTROL, USER_DEFINED, FileTokens

LOW_LINE = "▁"
Rank = Callable[[str, str], float | None]
"""How early two neighbours are merged, the lowest first; None when they are not."""


class PlainTokens:
    """The tokens of a text, as the file says."""

    def __init__(self, said: FileTokens) -> None:
        self._said = said
        self._ids = {text: i for i, text in enumerate(said.tokens)}
        self._ranks = {pair: i for i, pair in reversed(list(enumerate(said.merges)))}
        whole = [*said.of_kind(CONTROL), *said.of_kind(USER_DEFINED)]
        self._whole = sorted({said.tokens[i] for i in whole}, key=len, reverse=True)

    def of(self, text: str) -> list[int]:
        """All tokens of a prompt."""
        return [*self._said.before, *self._body(text), *self._said.after]

    def _body(self, text: str) -> Iterator[int]:
        for piece, whole in self._parted(text):
            if whole:
                yield self._ids[piece]
            elif self._said.family == "gpt2":
                yield from self._bytewise(piece)
            else:
                yield from self._piecewise(piece)

    def _parted(self, text: str) -> list[tuple[str, bool]]:
        """The text, cut at tokens that are taken whole."""
        pieces = [(text, False)] if text else []
        for token in (t for t in self._whole if t in text):
            cut: list[tuple[str, bool]] = []
            for piece, whole in pieces:
                parts = [piece] if whole else piece.split(token)
                for i, part in enumerate(parts):
                    cut += [(token, True)] if i else []
                    cut += [(part, whole)] if part else []
            pieces = cut
        return pieces

    def _bytewise(self, text: str) -> Iterator[int]:
        rule = self._said.rule
        assert rule is not None
        prefix = " " * (self._said.add_space_prefix and not text.startswith(" "))
        for word in rule.words(prefix + text):
            spelled = "".join(_LETTERS[byte] for byte in word.encode())
            if rule.whole_words and spelled in self._ids:
                yield self._ids[spelled]
                continue
            for symbol in merged(list(spelled), lambda a, b: self._ranks.get((a, b))):
                yield from self._looked_up(symbol)

    def _piecewise(self, text: str) -> Iterator[int]:
        spelled = (" " * self._said.add_space_prefix + text).replace(" ", LOW_LINE)
        for line in _lines(spelled) if self._said.family == "gemma4" else [spelled]:
            for symbol in merged(list(line), self._rank):
                yield from self._looked_up(symbol)

    def _rank(self, left: str, right: str) -> float | None:
        if self._said.family == "gemma4":
            return self._ranks.get((left, right))
        found = self._ids.get(left + right)
        return None if found is None else -self._said.scores[found]

    def _looked_up(self, symbol: str) -> list[int]:
        if symbol in self._ids:
            return [self._ids[symbol]]
        spelled = [self._bytes.get(byte) for byte in symbol.encode()]
        known = [token for token in spelled if token is not None]
        if len(known) == len(spelled):
            return known
        return [] if self._said.unknown is None else [self._said.unknown]

    @cached_property
    def _bytes(self) -> dict[int, int]:
        """The token of each byte, in vocabularies of pieces."""
        return {int(self._said.tokens[i][3:5], 16): i for i in self._said.of_kind(BYTE)}


def merged(symbols: list[str], rank: Rank) -> list[str]:
    """Neighbours joined, the lowest rank first and of equals the leftmost."""
    while True:
        ranks = [rank(a, b) for a, b in zip(symbols, symbols[1:], strict=False)]
        ranked = [(found, i) for i, found in enumerate(ranks) if found is not None]
        if not ranked:
            return symbols
        _, at = min(ranked)
        symbols = [*symbols[:at], symbols[at] + symbols[at + 1], *symbols[at + 2 :]]


def _lines(text: str) -> list[str]:
    """The text, cut between line breaks and what is none."""
    cut: list[str] = []
    for letter in text:
        if cut and (letter == "\n") == (cut[-1][-1] == "\n"):
            cut[-1] += letter
        else:
            cut.append(letter)
    return cut


def _byte_letters() -> list[str]:
    """The letter that byte-level vocabularies write for each byte: itself, if it can be seen."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in seen else chr(next(others)) for byte in range(256)]


_LETTERS = _byte_letters()
