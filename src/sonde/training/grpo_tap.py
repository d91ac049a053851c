"""Beside a GRPO trainer: which row of a training pass is which completion, and what it was worth.

1. **Note**  what was generated and scored: prompts, completions, rewards, their parts, advantages.
   An index tensor rides along in the batch, through shuffling and splitting.
2. **Read**  the policy's own pass in the loss: every completion token with its mask, whatever
   generated it (transformers or vLLM), and where asked for the last token of each prompt.
   Generation, old and reference log-probabilities and evaluation run elsewhere, and are never read.

TRL has no public place for either, so two methods of the trainer object are wrapped; `remove` puts
them back. `attach` refuses a trainer that lacks them.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

import torch
from torch import Tensor

from sonde.errors import BadTrainer
from sonde.training.messages import text_of
from sonde.training.pieces import Parts, PassSlice, Sample, places
from sonde.training.recorder import Recorder

ROWS: Final = "sonde_rows"
"""The key under which the index tensor rides along."""

PARTS: Final = ("R_A", "R_B", "R_C", "R_D")
"""Columns that a reward function may log with `log_extra`."""
INVALID: Final = "invalid"

WRAPPED: Final = ("_generate_and_score_completions", "_compute_loss")
NEEDED: Final = (*WRAPPED, "_logs", "reward_weights", "reward_func_names", "num_generations")


class GRPOTap:
    """The wrapped methods of one trainer."""

    def __init__(self, trainer: Any, every: int, *, prompts: bool = False) -> None:
        """`prompts`: read the last token of each prompt too."""
        if missing := [name for name in NEEDED if not hasattr(trainer, name)]:
            raise BadTrainer(
                f"{type(trainer).__name__} has no {', '.join(missing)}: attach() is for TRL's "
                "GRPOTrainer 1.16; pass the callback in callbacks=[...] to any other Trainer"
            )
        self.seconds = 0.0
        """What the tap has cost the trainer's thread."""
        self._trainer = trainer
        self._every, self._prompts = every, prompts
        self._recorder: Recorder | None = None
        self._batch = -1
        self._noted: dict[int, tuple[Sample, int]] = {}
        self._pieces: list[PassSlice] = []
        self._own = {name: trainer.__dict__[name] for name in WRAPPED if name in trainer.__dict__}
        self._original = {name: getattr(trainer, name) for name in WRAPPED}
        trainer._generate_and_score_completions = self._note
        trainer._compute_loss = self._read

    def start(self, recorder: Recorder) -> None:
        """Read through this recorder from now on."""
        self._recorder = recorder

    def take(self) -> list[PassSlice]:
        """What was read since the last time."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def remove(self) -> None:
        """Put the trainer's methods back."""
        for name in WRAPPED:
            self._trainer.__dict__.pop(name, None)
        self._trainer.__dict__.update(self._own)

    def _note(self, inputs: Any) -> Any:
        output = self._original["_generate_and_score_completions"](inputs)
        if self._recorder is None or not self._trainer.model.training:
            return output
        began = perf_counter()
        keys = self._samples(output)
        self.seconds += perf_counter() - began
        return output | {ROWS: keys}

    def _read(self, model: Any, inputs: Mapping[str, Any]) -> Tensor:
        compute: Callable[[Any, Any], Tensor] = self._original["_compute_loss"]
        keys = inputs.get(ROWS)
        if self._recorder is None or keys is None or not self._trainer.model.training:
            return compute(model, inputs)
        began = perf_counter()
        noted = [self._noted[key] for key in keys.tolist()]
        start = inputs["prompt_ids"].shape[1]
        # Prompts are padded on the left, so the last token of each is right before its completion.
        samples, lengths = (tuple(each) for each in zip(*noted, strict=True))
        piece = PassSlice(samples, lengths, self._every, {}, prompts=self._prompts)
        tokens = places(
            [
                [*range(start, start + length)[:: self._every]]
                + [start - 1] * piece.with_prompt(place)
                for place, length in enumerate(lengths)
            ],
            1,
        )
        before = perf_counter()
        with self._recorder.reading(tokens) as read:
            loss = compute(model, inputs)
        after = perf_counter()
        self._pieces.append(replace(piece, read=read))
        self.seconds += (before - began) + (perf_counter() - after)
        return loss

    def _samples(self, output: Mapping[str, Any]) -> Tensor:
        """Note this rank's completions. -> their keys, in the order of the batch"""
        trainer = self._trainer
        lengths = output["completion_mask"].sum(1).tolist()
        prompts = output["prompt_mask"].sum(1).tolist()
        here = len(lengths)
        first = trainer.accelerator.process_index * here
        logged = _Logged(trainer, trainer.accelerator.num_processes * here)
        ends = {*trainer.eos_token_ids, trainer._tokenizer.pad_token_id}
        pad = trainer._tokenizer.pad_token_id
        self._batch += 1
        keys = []
        for row, ids in enumerate(output["completion_ids"].tolist()):
            index = first + row
            # A truncated completion may be masked out of the loss: then count its tokens.
            written = lengths[row] or sum(token != pad for token in ids)
            sample = Sample(
                batch=self._batch,
                index=index,
                group=index // trainer.num_generations,
                prompt_tokens=prompts[row],
                completion_tokens=written,
                truncated=not written or ids[written - 1] not in ends,
                **logged.of(index),
            )
            keys.append(self._batch << 32 | index)
            self._noted[keys[-1]] = (sample, lengths[row])
        self._forget_old()
        return torch.tensor(keys, dtype=torch.long)

    def _forget_old(self) -> None:
        """Keep this batch and the one before: a step can take rows of both, never of older ones."""
        oldest = (self._batch - 1) << 32
        self._noted = {key: noted for key, noted in self._noted.items() if key >= oldest}


class _Logged:
    """What the trainer has just logged of a generation batch, of all ranks, in generation order."""

    def __init__(self, trainer: Any, count: int) -> None:
        logs = trainer._logs
        self._prompts = list(logs["prompt"])[-count:]
        self._completions = list(logs["completion"])[-count:]
        self._advantages = list(logs["advantages"])[-count:]
        self._rewards = [list(logs["rewards"][name])[-count:] for name in trainer.reward_func_names]
        self._weights = trainer.reward_weights.tolist()
        extra = logs["extra"]
        self._extra = {
            name: list(extra[name])[-count:] for name in (*PARTS, INVALID) if name in extra
        }

    def of(self, index: int) -> dict[str, Any]:
        """The fields of a `Sample` that were logged."""
        named = {name: values[index] for name, values in self._extra.items()}
        parts: Parts = tuple(_number(named.get(name)) for name in PARTS)  # type: ignore[assignment]
        return {
            "prompt": text_of(self._prompts[index]),
            "completion": text_of(self._completions[index]),
            "reward": self._reward(index),
            "parts": parts,
            "advantage": _number(self._advantages[index]),
            "invalid": bool(named.get(INVALID)),
        }

    def _reward(self, index: int) -> float | None:
        """The weighted sum, as the trainer makes it; None where no function gave a reward."""
        pairs = zip(self._weights, self._rewards, strict=True)
        given = [
            weight * values[index] for weight, values in pairs if not math.isnan(values[index])
        ]
        return sum(given) if given else None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
