"""Text to tokens and back, safely from any thread.

A fast tokenizer must not be used by two threads at once, and a server asks for tokens while its
engine runs: so one lock, held for one call. A long text takes seconds, and half a gigabyte: those
have a tokenizer of their own, one at a time, so that nobody waits for them but others like them.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cached_property
from threading import Lock

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from sonde.backends.check import check_text
from sonde.backends.torch.loading.loaded import Loaded
from sonde.backends.torch.loading.special import special_tokens
from sonde.errors import BadRequest
from sonde.prompts import offsets_by_decoding
from sonde.schema import SpecialTokens

LONG_CHARS = 65_536
"""A text that is split in a few hundredths of a second."""


class TokenVerbs:
    """What a backend does with its tokenizer alone: every backend is this, and a model."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self._lock = Lock()
        self._spare: PreTrainedTokenizerBase | None = None
        self._spare_lock = Lock()

    @cached_property
    def special_tokens(self) -> SpecialTokens:
        """What every prompt gets before and after its text."""
        with self._lock:
            return special_tokens(self._tokenizer)

    def tokenize(self, text: str, *, special: bool = True) -> list[int]:
        """Token ids; `special` adds the tokens the tokenizer adds by default."""
        check_text(text)
        with self._held_for(len(text)) as tokenizer:
            ids: list[int] = tokenizer(text, add_special_tokens=special)["input_ids"]
        return ids

    def detokenize(self, tokens: Sequence[int]) -> str:
        """Text of the ids; special tokens decode to nothing."""
        with self._lock:
            text: str = self._tokenizer.decode(
                list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        return text

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Half-open character interval of each token; empty for special tokens."""
        check_text(text)
        if not self._tokenizer.is_fast:
            return offsets_by_decoding(self.tokenize(text), self.detokenize)
        with self._held_for(len(text)) as tokenizer:
            encoded = tokenizer(text, return_offsets_mapping=True)
            special = set(tokenizer.all_special_ids)
        pairs = zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
        return [(0, 0) if token in special else (a, b) for token, (a, b) in pairs]

    def render_chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        generation_prompt: bool = True,
        continue_final: bool = False,
    ) -> list[int]:
        """Token ids of a conversation, as the model's own chat template writes it."""
        for message in messages:
            check_text(message["content"])
        if self._tokenizer.chat_template is None:
            raise BadRequest("this model has no chat template; give it a prompt instead")
        if continue_final and generation_prompt:
            raise BadRequest("the last message is continued, or another one begins; not both")
        with self._held_for(sum(len(message["content"]) for message in messages)) as tokenizer:
            try:
                ids = tokenizer.apply_chat_template(
                    [dict(message) for message in messages],
                    add_generation_prompt=generation_prompt,
                    continue_final_message=continue_final,
                    return_dict=False,
                )
            except TemplateError as error:
                raise BadRequest(f"the chat template refuses these messages: {error}") from error
            except ValueError as error:
                if not continue_final:
                    raise
                raise BadRequest(
                    "the last message cannot be continued: the chat template does not write its "
                    "text as it is"
                ) from error
        return [int(token) for token in ids]

    @contextmanager
    def _held_for(self, n_chars: int) -> Iterator[PreTrainedTokenizerBase]:
        """The tokenizer for a text of some length, for one caller."""
        if n_chars <= LONG_CHARS:
            with self._lock:
                yield self._tokenizer
            return
        with self._spare_lock:
            if self._spare is None:
                with self._lock:
                    self._spare = deepcopy(self._tokenizer)
            yield self._spare


def end_ids(loaded: Loaded) -> list[int]:
    """Tokens that end a completion, as the model's generation settings and tokenizer name them."""
    settings = getattr(loaded.model, "generation_config", None)
    named = getattr(settings, "eos_token_id", None)
    ids = named if isinstance(named, list) else [named]
    return sorted({i for i in [*ids, loaded.tokenizer.eos_token_id] if isinstance(i, int)})
