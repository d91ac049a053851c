"""The tokenizer that a GGUF file describes, built from the file alone and compared with it.

1. **Read**    What the file says (`gguf_tokens`).
2. **Build**   Vocabulary, merges, splitting rule, and the tokens it adds to a prompt.
3. **Compare** It must make, of a set of texts, the tokens that the file's own words make
   (`gguf_plain`), after it was saved and loaded as any other; a difference is refused by name.

Not by transformers, which leaves out the tokens that a prompt begins and ends with, and which takes
text apart by another rule where it does not know the file's.
"""

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
)
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from sonde.backends.torch.loading.gguf_plain import LOW_LINE, PlainTokens
from sonde.backends.torch.loading.gguf_tokens import BYTE, CONTROL, USER_DEFINED, FileTokens
from sonde.backends.torch.loading.probes import PROBES
from sonde.backends.torch.loading.special import template
from sonde.errors import BadRequest


def build(said: FileTokens) -> PreTrainedTokenizerFast:
    """The file's tokenizer, with its chat template."""
    made = _bytewise(said) if said.family == "gpt2" else _piecewise(said)
    made.post_processor = template(
        [(said.tokens[i], i) for i in said.before], [(said.tokens[i], i) for i in said.after]
    )
    control = [said.tokens[i] for i in said.of_kind(CONTROL)]
    whole = [said.tokens[i] for i in said.of_kind(USER_DEFINED)]
    made.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in control])
    made.add_tokens([AddedToken(text, normalized=False) for text in whole])
    named = {
        "bos_token": said.text(said.bos),
        "eos_token": said.text(said.eos),
        "unk_token": said.text(said.unknown),
        "pad_token": said.text(said.padding),
    }
    given = {name: text for name, text in named.items() if text is not None}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, **given)
    tokenizer.chat_template = said.chat_template
    return tokenizer


def compare(tokenizer: PreTrainedTokenizerBase, said: FileTokens, name: str) -> None:
    """Refuse a tokenizer that makes other tokens than the file says, or lost its template."""
    plain = PlainTokens(said)
    for text in [*PROBES, *_around_special(said)]:
        expected, found = plain.of(text), tokenizer(text)["input_ids"]
        if found != expected:
            raise BadRequest(
                f"{name}: the tokenizer made from it gives {text!r} the tokens {found}, and the "
                f"file says {expected}; load the model's directory or Hugging Face id instead"
            )
    if tokenizer.chat_template != said.chat_template:
        raise BadRequest(f"{name}: the tokenizer made from it has another chat template")


def _around_special(said: FileTokens) -> list[str]:
    """Texts with special tokens in them: those with a name, and the last of each kind."""
    named = [said.bos, said.eos, said.eot, said.padding]
    last = [found[-1] for kind in (CONTROL, USER_DEFINED) if (found := said.of_kind(kind))]
    whole = {*said.of_kind(CONTROL), *said.of_kind(USER_DEFINED)}
    return [f"so{said.tokens[i]} it is" for i in {*named, *last} if i is not None and i in whole]


def _bytewise(said: FileTokens) -> Tokenizer:
    rule = said.rule
    assert rule is not None
    vocabulary = {text: i for i, text in enumerate(said.tokens)}
    merges = [(a, b) for a, b in said.merges if {a, b, a + b} <= vocabulary.keys()]
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=rule.whole_words))
    made.pre_tokenizer = rule.pre_tokenizer(space_prefix=said.add_space_prefix)
    made.decoder = decoders.ByteLevel()
    return made


def _piecewise(said: FileTokens) -> Tokenizer:
    vocabulary = {text: i for i, text in enumerate(said.tokens)}
    merges = [(a, b) for a, b in said.merges if {a, b, a + b} <= vocabulary.keys()]
    made = Tokenizer(
        models.BPE(
            vocab=vocabulary,
            merges=merges if said.family == "gemma4" else merges_by_score(said),
            unk_token=said.text(said.unknown),
            fuse_unk=True,
            byte_fallback=bool(said.of_kind(BYTE)),
        )
    )
    spaces = normalizers.Replace(" ", LOW_LINE)
    first = [normalizers.Prepend(LOW_LINE)] if said.add_space_prefix else []
    made.normalizer = normalizers.Sequence([*first, spaces])
    if said.family == "gemma4":
        made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^\n]+|\n+"), "isolated")
    shown = [decoders.Replace(LOW_LINE, " "), decoders.ByteFallback(), decoders.Fuse()]
    stripped = [decoders.Strip(" ", 1, 0)] if said.add_space_prefix else []
    made.decoder = decoders.Sequence([*shown, *stripped])
    return made


def merges_by_score(said: FileTokens) -> list[tuple[str, str]]:
    """Every way to make a token of two others, the best scored token first."""
    ids = {text: i for i, text in enumerate(said.tokens)}
    made: list[tuple[float, int, int, int, tuple[str, str]]] = []
    for token, text in enumerate(said.tokens):
        for cut in range(1, len(text)):
            left, right = text[:cut], text[cut:]
            if left in ids and right in ids:
                made.append((-said.scores[token], token, ids[left], ids[right], (left, right)))
    return [pair for *_, pair in sorted(made)]
