"""How the tap sits on a trainer; what it reads is compared in `test_sidecar`."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sonde.errors import BadTrainer
from sonde.training.grpo_tap import ROWS, GRPOTap
from sonde.training.recorder import Recorder, chosen
from tests.tiny_model import tiny_llama


class Trainer:
    """What the tap needs of TRL's trainer, and no more."""

    def __init__(self) -> None:
        self.model = tiny_llama(layers=3).train()
        self.accelerator = SimpleNamespace(process_index=1, num_processes=2)
        self.reward_weights = torch.tensor([2.0, 1.0])
        self.reward_func_names = ["one", "other"]
        self.num_generations = 2
        self.eos_token_ids = [1]
        self._tokenizer = SimpleNamespace(pad_token_id=0)
        nan = float("nan")
        self._logs: dict[str, Any] = {
            "prompt": ["p0", "p0", "p1", "p1"],
            "completion": ["c0", "c1", "c2", "c3"],
            "advantages": [0.0, 0.1, 0.2, 0.3],
            "rewards": {"one": [0.0, 0.1, 0.2, nan], "other": [nan, nan, 0.5, nan]},
            "extra": {"R_A": [1.0, 0.0, 1.0, None], "invalid": [False, False, True, False]},
        }

    def _generate_and_score_completions(self, inputs: Any) -> dict[str, Any]:
        return {
            "prompt_ids": torch.tensor([[0, 4], [5, 6]]),
            "prompt_mask": torch.tensor([[0, 1], [1, 1]]),
            "completion_ids": torch.tensor([[7, 1, 0], [8, 9, 10]]),
            "completion_mask": torch.tensor([[1, 1, 0], [1, 1, 1]]),
        }

    def _compute_loss(self, model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        return model(input_ids=ids).logits.sum()


def started(trainer: Trainer) -> GRPOTap:
    tap = GRPOTap(trainer, every=1)
    tap.start(Recorder(chosen(trainer.model, [1]), {1: "post_block"}))
    return tap


def test_rows_are_known_after_shuffling_on_a_second_rank() -> None:
    trainer = Trainer()
    tap = started(trainer)
    batch = trainer._generate_and_score_completions(None)
    assert batch[ROWS].device.type == "cpu"
    shuffled = {name: value[[1, 0]] for name, value in batch.items()}
    trainer._compute_loss(trainer.model, shuffled)
    (piece,) = tap.take()
    assert [sample.completion for sample in piece.samples] == ["c3", "c2"]
    assert [sample.index for sample in piece.samples] == [3, 2]
    assert [sample.group for sample in piece.samples] == [1, 1]
    assert piece.lengths == (3, 2)
    assert [sample.truncated for sample in piece.samples] == [True, False]
    assert [sample.prompt_tokens for sample in piece.samples] == [2, 1]


def test_rewards_are_summed_as_the_trainer_does_and_missing_ones_are_missing() -> None:
    trainer = Trainer()
    tap = started(trainer)
    trainer._compute_loss(trainer.model, trainer._generate_and_score_completions(None))
    first, second = tap.take()[0].samples
    assert first.reward == pytest.approx(2 * 0.2 + 0.5)
    assert second.reward is None
    assert (first.parts[0], second.parts[0]) == (1.0, None)
    assert first.invalid
    assert first.advantage == 0.2


def test_evaluation_is_not_read() -> None:
    trainer = Trainer()
    tap = started(trainer)
    trainer.model.eval()
    batch = trainer._generate_and_score_completions(None)
    assert ROWS not in batch
    trainer._compute_loss(trainer.model, batch)
    assert tap.take() == []


def test_nothing_is_read_before_training_begins() -> None:
    trainer = Trainer()
    tap = GRPOTap(trainer, every=1)
    trainer._compute_loss(trainer.model, trainer._generate_and_score_completions(None))
    assert tap.take() == []


def test_removing_it_puts_back_what_was_there() -> None:
    trainer = Trainer()

    def own(model: Any, inputs: Any) -> str:
        return "own"

    trainer._compute_loss = own  # type: ignore[method-assign,assignment]
    tap = GRPOTap(trainer, every=1)
    tap.remove()
    assert trainer.__dict__["_compute_loss"] is own
    assert "_generate_and_score_completions" not in trainer.__dict__


def test_another_trainer_is_refused_by_name() -> None:
    with pytest.raises(BadTrainer, match=r"SimpleNamespace has no _generate_and_score"):
        GRPOTap(SimpleNamespace(), every=1)
