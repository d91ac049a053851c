"""Beside any Hugging Face trainer: the labels say which tokens are the answer.

The model's own forward pass is watched from outside, and read when it is a training pass: in
training mode, with gradients, labels given. There are no rewards, and every text is its own group:
a row of the batch, or one of several that were packed into a row. The first position of a text is
never an answer: nothing predicts it, and it is an attention sink. Of a text that is learnt from its
beginning on, that one token is the prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from sonde.training.pieces import PassSlice, Sample, places
from sonde.training.recorder import Recorder

IGNORED = -100
"""The label of a token that is not trained on."""


class PlainTap:
    """Hooks around the forward pass of one model."""

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Any,
        every: int,
        first_index: int = 0,
        limit: int | None = None,
    ) -> None:
        """`limit`: the length at which the trainer cuts texts off; None where nobody says."""
        self.seconds = 0.0
        """What the tap has cost the trainer's thread."""
        self._tokenizer = tokenizer
        self._every = every
        self._first_index = first_index
        self._limit = limit
        self._recorder: Recorder | None = None
        self._reading: Any = None
        self._noted: tuple[tuple[Sample, ...], tuple[int, ...]] = ((), ())
        self._read: dict[int, Tensor] = {}
        self._pieces: list[PassSlice] = []
        self._batch = -1
        self._handles = (
            model.register_forward_pre_hook(self._begin, with_kwargs=True),
            model.register_forward_hook(self._end, always_call=True),
        )

    def start(self, recorder: Recorder) -> None:
        """Read through this recorder from now on."""
        self._recorder = recorder

    def take(self) -> list[PassSlice]:
        """What was read since the last time."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def remove(self) -> None:
        """Leave the model alone."""
        for handle in self._handles:
            handle.remove()

    def _begin(self, model: nn.Module, _inputs: Any, named: dict[str, Any]) -> None:
        labels, ids = named.get("labels"), named.get("input_ids")
        if self._recorder is None or labels is None or ids is None:
            return
        if not (model.training and torch.is_grad_enabled()):
            return
        began = perf_counter()
        texts = texts_of(labels, named.get("attention_mask"), named.get("position_ids"))
        self._noted = self._samples(ids, texts), tuple(len(text.answer) for text in texts)
        tokens = places([text.answer for text in texts], self._every, [text.row for text in texts])
        self._reading = self._recorder.reading(tokens)
        self._read = self._reading.__enter__()
        self.seconds += perf_counter() - began

    def _end(self, _model: nn.Module, _inputs: Any, output: Any) -> None:
        reading, self._reading = self._reading, None
        if reading is None:
            return
        began = perf_counter()
        if output is None:  # the pass failed; its own error is what matters
            reading.__exit__(RuntimeError, RuntimeError("the forward pass failed"), None)
            return
        reading.__exit__(None, None, None)
        self._pieces.append(PassSlice(*self._noted, self._every, self._read))
        self.seconds += perf_counter() - began

    def _samples(self, ids: Tensor, texts: Sequence["Text"]) -> tuple[Sample, ...]:
        self._batch += 1
        rows = ids.tolist()
        found = []
        for number, text in enumerate(texts):
            tokens = rows[text.row]
            prompt = [tokens[position] for position in text.prompt]
            answer = [tokens[position] for position in text.answer]
            found.append(
                Sample(
                    batch=self._batch,
                    index=self._first_index + number,
                    group=self._first_index + number,
                    prompt=self._text(prompt),
                    completion=self._text(answer),
                    prompt_tokens=len(prompt),
                    completion_tokens=len(answer),
                    truncated=self._cut(text, tokens),
                )
            )
        return tuple(found)

    def _cut(self, text: "Text", tokens: list[int]) -> bool:
        """Whether a text is as long as texts may be, and does not end there by itself."""
        if self._limit is None or not text.positions or len(text.positions) < self._limit:
            return False
        return tokens[text.positions[-1]] != self._end_token

    @property
    def _end_token(self) -> int | None:
        token: int | None = getattr(self._tokenizer, "eos_token_id", None)
        return token

    def _text(self, tokens: list[int]) -> str:
        if self._tokenizer is None:
            return ""
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return text


def length_limit(args: Any, tokenizer: Any) -> int | None:
    """Where texts are cut off: what the trainer was told, else what the tokenizer says.

    Tokenizers without a limit say something astronomical.
    """
    for limit in (getattr(args, "max_length", None), getattr(tokenizer, "model_max_length", None)):
        if isinstance(limit, int) and 0 < limit < 10**9:
            return limit
    return None


@dataclass(frozen=True)
class Text:
    """One text of a batch: its row, and the positions it takes there."""

    row: int
    positions: Sequence[int]
    """All of them, padding left out."""
    answer: Sequence[int]
    """Those that are trained on, the first position of the text left out."""

    @property
    def prompt(self) -> list[int]:
        """What stands before the answer; all of it where there is none."""
        if not self.answer:
            return list(self.positions)
        return [position for position in self.positions if position < self.answer[0]]


def texts_of(labels: Tensor, mask: Tensor | None, numbers: Tensor | None) -> list[Text]:
    """The texts of a batch. Where positions are numbered from 0 again, another one begins."""
    trained = (labels != IGNORED).tolist()
    held = (torch.ones_like(labels) if mask is None or mask.dim() != 2 else mask).bool().tolist()
    plain = numbers if numbers is not None and numbers.dim() == 2 else None
    counted = None if plain is None else plain.expand_as(labels).tolist()
    found = []
    for row, here in enumerate(held):
        positions = [place for place, on in enumerate(here) if on]
        for text in _apart(positions, None if counted is None else counted[row]):
            found.append(Text(row, text, [place for place in text[1:] if trained[row][place]]))
    return found


def _apart(positions: list[int], counted: list[int] | None) -> list[list[int]]:
    """The positions of each text that was packed into a row."""
    begins = [
        place
        for place, position in enumerate(positions)
        if place and counted is not None and counted[position] == 0
    ]
    ends = [*begins, len(positions)]
    return [positions[start:end] for start, end in zip([0, *begins], ends, strict=True)]
