"""Load the tokenizer in a model directory, and hold it to what the directory says.

1. **Load** it as transformers does.
2. **Compare** it, on a set of texts, with the directory's own `tokenizer.json`. Some classes build
   their own from the vocabulary and leave the rest of that file aside: such a one is loaded again
   without its class, and refused if that does not help.
3. **Mend** what it adds: where `tokenizer_config.json` says `add_bos_token` or `add_eos_token`,
   that is what a prompt gets, whatever the template in `tokenizer.json` does.

A wrong token, or a missing first one, changes every number and fails no control.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from sonde.backends.torch.loading.checkpoint import UNREADABLE
from sonde.backends.torch.loading.probes import PROBES
from sonde.backends.torch.loading.reasons import one_line
from sonde.backends.torch.loading.special import added, template
from sonde.errors import BadRequest

FILE, SETTINGS = "tokenizer.json", "tokenizer_config.json"

Settings = dict[str, Any]
Encode = Callable[[str], list[int]]


def load_tokenizer(directory: Path) -> PreTrainedTokenizerBase:
    """The directory's tokenizer, a fast one where there is a choice: only those know offsets."""
    try:
        return _load(directory)
    except UNREADABLE as error:
        raise BadRequest(
            f"{directory} has no tokenizer that can be read ({one_line(error)}); "
            "put one beside the weights with tokenizer.save_pretrained(directory)"
        ) from error


def _load(directory: Path) -> PreTrainedTokenizerBase:
    tokenizer = AutoTokenizer.from_pretrained(
        directory, trust_remote_code=False, local_files_only=True
    )
    settings = _settings(directory)
    if tokenizer.is_fast and (directory / FILE).is_file():
        said = _encoder(directory / FILE, settings)
        if _difference(tokenizer, said) is not None:
            tokenizer = PreTrainedTokenizerFast.from_pretrained(directory, local_files_only=True)
        if (text := _difference(tokenizer, said)) is not None:
            raise BadRequest(
                f"{directory}: transformers gives {text!r} other tokens than its {FILE} does; "
                "save the tokenizer again with the version of transformers it was made with"
            )
    mend(tokenizer, settings)
    return tokenizer


def mend(tokenizer: PreTrainedTokenizerBase, settings: Settings) -> None:
    """Have it add the tokens that the settings ask for, and not those that they rule out."""
    before, after = added(tokenizer)
    first = _asked(before, settings.get("add_bos_token"), tokenizer.bos_token_id)
    last = _asked(after, settings.get("add_eos_token"), tokenizer.eos_token_id)
    if (first, last) == (before, after):
        return
    if not tokenizer.is_fast:
        raise BadRequest(
            f"{tokenizer.name_or_path}: {SETTINGS} asks for other special tokens than its "
            "tokenizer adds; save it as a fast one, with a tokenizer.json"
        )
    spelled = tokenizer.convert_ids_to_tokens
    wanted = template([(spelled(i), i) for i in first], [(spelled(i), i) for i in last])
    backend = tokenizer.backend_tokenizer
    own = backend.post_processor
    keeps = own is not None and not before and not after  # it trims offsets, say
    backend.post_processor = processors.Sequence([own, wanted]) if keeps else wanted


def _asked(ids: list[int], flag: object, token: int | None) -> list[int]:
    if not isinstance(flag, bool) or token is None:
        return ids
    others = [i for i in ids if i != token]
    if not flag:
        return others
    return ids if token in ids else [token, *ids]


def _settings(directory: Path) -> Settings:
    try:
        found = json.loads((directory / SETTINGS).read_text())
    except FileNotFoundError:
        return {}
    return found if isinstance(found, dict) else {}


def _encoder(file: Path, settings: Settings) -> Encode:
    """Text to tokens by the file itself, without what is added."""
    read = Tokenizer.from_file(str(file))
    read.no_padding()
    read.no_truncation()
    read.encode_special_tokens = bool(settings.get("split_special_tokens"))
    prefix, cut = settings.get("add_prefix_space"), read.pre_tokenizer
    if isinstance(prefix, bool) and isinstance(cut, pre_tokenizers.ByteLevel):
        cut.add_prefix_space = prefix
        read.pre_tokenizer = cut
    return lambda text: list(read.encode(text, add_special_tokens=False).ids)


def _difference(tokenizer: PreTrainedTokenizerBase, said: Encode) -> str | None:
    """The first text that the tokenizer takes apart in another way."""
    for text in PROBES:
        try:
            found: list[int] | None = tokenizer(text, add_special_tokens=False)["input_ids"]
        except Exception:  # noqa: BLE001  the library raises nothing narrower for a missing token
            found = None
        if found != said(text):
            return text
    return None
