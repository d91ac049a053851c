"""Which special tokens a tokenizer adds to every prompt, found by asking it.

Not from its settings: a flag may say one thing, and what is done with text another.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from tokenizers import processors
from transformers import PreTrainedTokenizerBase

from sonde.errors import BadRequest
from sonde.schema import SpecialToken, SpecialTokens

WORDS = ("The", "a", "0")
"""Any text will do that has tokens of its own; nearly all vocabularies have these."""
TRIED = 64


def special_tokens(tokenizer: PreTrainedTokenizerBase) -> SpecialTokens:
    """What stands before and after the text of a prompt, with the tokens' spelling."""
    before, after = added(tokenizer)
    return SpecialTokens(
        before=[SpecialToken(id=i, text=tokenizer.convert_ids_to_tokens(i)) for i in before],
        after=[SpecialToken(id=i, text=tokenizer.convert_ids_to_tokens(i)) for i in after],
    )


def added(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """Ids before and after the tokens of a text; refuses a tokenizer that has no tokens for any."""
    for word in chain(WORDS, _own_words(tokenizer)):
        try:
            bare = tokenizer(word, add_special_tokens=False)["input_ids"]
            whole = tokenizer(word)["input_ids"]
        except Exception:  # noqa: BLE001  the library's for a word that it does not know
            continue
        for start in range(len(whole) - len(bare) + 1) if bare else ():
            if whole[start : start + len(bare)] == bare:
                return whole[:start], whole[start + len(bare) :]
    raise BadRequest(
        f"the tokenizer in {tokenizer.name_or_path} makes no tokens of any text: its vocabulary is "
        "missing; put its tokenizer.json there"
    )


def _own_words(tokenizer: PreTrainedTokenizerBase) -> Iterator[str]:
    """Words of the vocabulary, if it is an unusual one."""
    special = set(tokenizer.all_special_ids)
    ids = [i for i in range(len(tokenizer)) if i not in special]
    return (tokenizer.decode([i]) for i in ids[:: len(ids) // TRIED + 1])


def template(
    before: Sequence[tuple[str, int]], after: Sequence[tuple[str, int]]
) -> processors.TemplateProcessing:
    """Adds tokens, given by spelling and id, before and after a text."""
    named = {f"before{n}": token for n, token in enumerate(before)}
    named |= {f"after{n}": token for n, token in enumerate(after)}
    first = [name for name in named if name.startswith("before")]
    last = [name for name in named if name.startswith("after")]

    def around(text: str, kind: int) -> list[str]:
        return [f"{piece}:{kind}" for piece in (*first, text, *last)]

    return processors.TemplateProcessing(
        single=around("$A", 0),
        pair=[*around("$A", 0), *around("$B", 1)],
        special_tokens=[
            {"id": name, "ids": [token], "tokens": [text]} for name, (text, token) in named.items()
        ],
    )
