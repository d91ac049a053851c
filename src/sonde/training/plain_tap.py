"""Beside any Hugging Face trainer: the labels say which tokens are the answer.

The model's own forward pass is watched from outside, and read when it is a training pass: in
training mode, with gradients, labels given. There are no rewards, and every row is its own group.
The first position of a row is never an answer: nothing predicts it, and it is an attention sink.
"""

from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from sonde.training.pieces import Piece, Sample, places
from sonde.training.recorder import Recorder

IGNORED = -100
"""The label of a token that is not trained on."""


class PlainTap:
    """Hooks around the forward pass of one model."""

    def __init__(self, model: nn.Module, tokenizer: Any, every: int, first_index: int = 0) -> None:
        self.seconds = 0.0
        """What the tap has cost the trainer's thread."""
        self._tokenizer = tokenizer
        self._every = every
        self._first_index = first_index
        self._recorder: Recorder | None = None
        self._reading: Any = None
        self._noted: tuple[tuple[Sample, ...], tuple[int, ...]] = ((), ())
        self._read: dict[int, Tensor] = {}
        self._pieces: list[Piece] = []
        self._batch = -1
        self._handles = (
            model.register_forward_pre_hook(self._begin, with_kwargs=True),
            model.register_forward_hook(self._end, always_call=True),
        )

    def start(self, recorder: Recorder) -> None:
        """Read through this recorder from now on."""
        self._recorder = recorder

    def take(self) -> list[Piece]:
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
        mask = named.get("attention_mask")
        positions = answers(labels, mask)
        self._noted = self._samples(ids, mask, positions), tuple(map(len, positions))
        tokens = places(positions, self._every)
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
        self._pieces.append(Piece(*self._noted, self._every, self._read))
        self.seconds += perf_counter() - began

    def _samples(
        self, ids: Tensor, mask: Tensor | None, positions: list[list[int]]
    ) -> tuple[Sample, ...]:
        self._batch += 1
        attended = torch.ones_like(ids) if mask is None else mask
        found = []
        for row, (tokens, held) in enumerate(zip(ids.tolist(), attended.tolist(), strict=True)):
            where = positions[row]
            first = where[0] if where else len(tokens)
            before = [token for token, keep in zip(tokens[:first], held, strict=False) if keep]
            answer = [tokens[position] for position in where]
            found.append(
                Sample(
                    batch=self._batch,
                    index=self._first_index + row,
                    group=self._first_index + row,
                    prompt=self._text(before),
                    completion=self._text(answer),
                    prompt_tokens=len(before),
                    completion_tokens=len(answer),
                    truncated=bool(answer) and answer[-1] != self._end_token,
                )
            )
        return tuple(found)

    @property
    def _end_token(self) -> int | None:
        token: int | None = getattr(self._tokenizer, "eos_token_id", None)
        return token

    def _text(self, tokens: list[int]) -> str:
        if self._tokenizer is None:
            return ""
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return text


def answers(labels: Tensor, mask: Tensor | None) -> list[list[int]]:
    """The positions of each row that are trained on, the first position of a row left out."""
    trained = labels != IGNORED
    if mask is not None:
        trained = trained & mask.bool()
        first = mask.bool().int().argmax(1, keepdim=True)
        trained = trained.scatter(1, first, False)
    else:
        trained[:, 0] = False
    return [[place for place, on in enumerate(row) if on] for row in trained.tolist()]
