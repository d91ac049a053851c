"""What a GGUF file says about how text becomes tokens.

A converted model has only its tokenizer to say which tokens a prompt gets, and a tokenizer that
leaves out the file's first token gives numbers that look right and are not. So what the file says
is read here, once and whole; a key that is missing has the default that the format gives it, and
what cannot be honoured is refused by its name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

from gguf import GGUFReader

from sonde.backends.torch.loading.splitting import RULES, WORDS, Rule
from sonde.errors import BadRequest

Family = Literal["gpt2", "llama", "gemma4"]
"""How tokens are found: bytes and merges; pieces and their scores; pieces and merges."""

CONTROL: Final = 3
USER_DEFINED: Final = 4
BYTE: Final = 6
"""Kinds of token, as the format numbers them."""


@dataclass(frozen=True)
class FileTokens:
    """The vocabulary of a file, and which tokens it asks to be added to a prompt."""

    family: Family
    rule: Rule | None
    """How text is cut into words; None where it is not cut."""
    tokens: Sequence[str]
    kinds: Sequence[int]
    scores: Sequence[float]
    merges: Sequence[tuple[str, str]]
    bos: int | None
    eos: int | None
    eot: int | None
    """Ends a turn of a conversation."""
    unknown: int | None
    padding: int | None
    add_bos: bool
    add_eos: bool
    add_space_prefix: bool
    chat_template: str | None

    def text(self, token: int | None) -> str | None:
        """How a token is spelled."""
        return None if token is None else self.tokens[token]

    def of_kind(self, kind: int) -> list[int]:
        """Ids of the tokens of a kind, as the format numbers kinds."""
        return [i for i, found in enumerate(self.kinds) if found == kind and self.tokens[i]]

    @property
    def before(self) -> list[int]:
        """Tokens that every prompt begins with."""
        return [self.bos] if self.add_bos and self.bos is not None else []

    @property
    def after(self) -> list[int]:
        """Tokens that every prompt ends with."""
        return [self.eos] if self.add_eos and self.eos is not None else []


def read_file_tokens(gguf: Path) -> FileTokens:
    """What the file says, or which part of it cannot be honoured."""
    fields = _Fields(gguf)
    family = _family(fields)
    rule = _rule(fields) if family == "gpt2" else None
    tokens = fields.list("tokens")
    if not tokens:
        raise BadRequest(
            f"{gguf} has no vocabulary (tokenizer.ggml.tokens); it holds no whole model"
        )
    pieces = family == "llama"
    said = FileTokens(
        family=family,
        rule=rule,
        tokens=tokens,
        kinds=fields.list("token_type") or [1] * len(tokens),
        scores=fields.list("scores") or [0.0] * len(tokens),
        merges=[_pair(merge) for merge in fields.list("merges")],
        bos=fields.token("bos_token_id", len(tokens), 1 if pieces else None),
        eos=fields.token("eos_token_id", len(tokens), 2 if pieces else None),
        eot=fields.token("eot_token_id", len(tokens), None),
        unknown=fields.token("unknown_token_id", len(tokens), 0 if pieces else None),
        padding=fields.token("padding_token_id", len(tokens), None),
        add_bos=fields.flag("add_bos_token", pieces or (rule is not None and rule.adds_bos)),
        add_eos=fields.flag("add_eos_token", False),
        add_space_prefix=fields.flag("add_space_prefix", pieces),
        chat_template=fields.get("tokenizer.chat_template"),
    )
    _check(said, gguf)
    return said


class _Fields:
    """The file's keys, under the names they have after `tokenizer.ggml.`."""

    def __init__(self, gguf: Path) -> None:
        self.gguf = gguf
        self._reader = GGUFReader(gguf)

    def get(self, key: str) -> Any:
        field = self._reader.get_field(key)
        return None if field is None else field.contents()

    def list(self, name: str) -> list[Any]:
        return list(self.get(f"tokenizer.ggml.{name}") or [])

    def flag(self, name: str, default: bool) -> bool:
        found = self.get(f"tokenizer.ggml.{name}")
        return default if found is None else bool(found)

    def token(self, name: str, size: int, default: int | None) -> int | None:
        found = self.get(f"tokenizer.ggml.{name}")
        if found is None:
            return default if default is None or default < size else None
        if not 0 <= int(found) < size:
            raise BadRequest(
                f"{self.gguf}: tokenizer.ggml.{name} is {found}, outside its vocabulary [0, {size})"
            )
        return int(found)


def _family(fields: _Fields) -> Family:
    found = fields.get("tokenizer.ggml.model")
    for known in get_args(Family):
        if found == known:
            family: Family = known
            return family
    raise BadRequest(
        f"{fields.gguf} has a tokenizer of the kind {found!r}, which cannot be read exactly; "
        f"known: {list(get_args(Family))}. Load the model's directory or Hugging Face id instead"
    )


def _rule(fields: _Fields) -> Rule:
    name = fields.get("tokenizer.ggml.pre")
    if name in RULES:
        return RULES[name]
    said = "does not say how its text is split" if name in (None, "default") else (
        f"splits text by a rule named {name!r}, which is not known here"
    )  # fmt: skip
    raise BadRequest(
        f"{fields.gguf} {said} (tokenizer.ggml.pre); under another rule its tokens would be wrong. "
        f"Known: {sorted(RULES)}. Load the model's directory or Hugging Face id instead"
    )


def _pair(merge: str) -> tuple[str, str]:
    """Its two halves; a first half may begin with the space that otherwise parts them."""
    cut = merge.find(" ", 1)
    return merge[:cut], merge[cut + 1 :]


def _check(said: FileTokens, gguf: Path) -> None:
    """Refuse a file that asks for a token and does not say which, or that has no merges to use."""
    for flag, asked, token in (
        ("add_bos_token", said.add_bos, said.bos),
        ("add_eos_token", said.add_eos, said.eos),
    ):
        if asked and token is None:
            raise BadRequest(
                f"{gguf} asks for tokenizer.ggml.{flag} and does not say which token that is; "
                f"write tokenizer.ggml.{flag.split('_')[1]}_token_id into the file"
            )
    if said.family != "llama" and not said.merges:
        raise BadRequest(f"{gguf} has no merges (tokenizer.ggml.merges); its tokens are unknown")
    if said.rule is not None and said.add_space_prefix and said.rule.patterns != (WORDS,):
        raise BadRequest(
            f"{gguf} asks for tokenizer.ggml.add_space_prefix with a splitting rule that knows no "
            "such space; load the model's directory or Hugging Face id instead"
        )
