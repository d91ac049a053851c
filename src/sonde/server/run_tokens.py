"""The texts of a completion's tokens, by the run's own tokenizer: no model, no torch, no network.

A trainer saves its tokenizer with every checkpoint, so a run that is taken along still knows it. A
server opens that one only: what a run directory of somebody else points to is not its to open.
The command line may also have the one beside the model that the run names.

Not a guess: a run whose tokenizer is not here has tokens without texts, and the page says so.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sonde.runs.files import identity_of
from sonde.runs.layout import RunLayout
from sonde.runs.listing import checkpoints
from sonde.runs.reader import run_info
from sonde.server.completion.decoding import InnerText

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Split = Callable[[str], list[str]]
"""A completion -> the texts of its tokens."""

FILE: Final = "tokenizer.json"


@dataclass(frozen=True, eq=False)
class RunTokens:
    """A run's own tokenizer."""

    _tokenizer: "Tokenizer"

    def tokenize(self, text: str, special: bool) -> list[int]:
        """Token ids; `special` says whether those that a prompt gets are added."""
        return list(self._tokenizer.encode(text, add_special_tokens=special).ids)

    def text(self, tokens: Sequence[int]) -> str:
        """Text of ids; special tokens are shown."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False))


def tokens_of(layout: RunLayout) -> RunTokens | None:
    """The tokenizer that a trainer saved with the run; None where there is none."""
    for path in _candidates(layout, elsewhere=False):
        if (tokenizer := _loaded(path)) is not None:
            return RunTokens(tokenizer)
    return None


def splitter(layout: RunLayout, *, elsewhere: bool = False) -> Split | None:
    """What splits completions of a run; None where its tokenizer is not to be had.

    `elsewhere` also looks outside the run directory: where the run's model is on this machine.
    """
    for path in _candidates(layout, elsewhere=elsewhere):
        tokenizer = _loaded(path)
        if tokenizer is not None:
            return _split_by(tokenizer)
    return None


def _candidates(layout: RunLayout, *, elsewhere: bool) -> Iterator[Path]:
    """Where the tokenizer may be, the nearest to the run first."""
    for step in reversed(checkpoints(layout)):
        own = layout.checkpoint(step) / FILE
        if identity_of(own) is not None:
            yield own
    info = run_info(layout) if elsewhere else None
    if info is None:
        return
    if (beside := Path(info.model) / FILE).is_file():
        yield beside
    elif (downloaded := _downloaded(info.model)) is not None:
        yield downloaded


def _downloaded(model: str) -> Path | None:
    """The tokenizer of a Hugging Face id, where it was downloaded before."""
    try:
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError
    except ModuleNotFoundError:
        return None
    try:
        found = try_to_load_from_cache(model, FILE)
    except HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None


def _loaded(path: Path) -> "Tokenizer | None":
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError:
        return None
    try:
        return Tokenizer.from_file(str(path))
    except Exception:  # noqa: BLE001  the library raises nothing narrower for a damaged file
        return None


def _split_by(tokenizer: "Tokenizer") -> Split:
    inner = InnerText(_Plain(tokenizer))
    return lambda text: [
        inner.of([token]) for token in tokenizer.encode(text, add_special_tokens=False).ids
    ]


class _Plain:
    """The library's tokenizer, as `InnerText` asks one."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer

    def detokenize(self, tokens: Sequence[int]) -> str:
        """Text of the ids; special tokens decode to nothing."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))
