import pytest
import torch

from sonde.training.layers import chosen
from sonde.training.plain_tap import PlainTap, answers
from sonde.training.recorder import Recorder
from tests.tiny_model import tiny_llama, tiny_tokenizer

IDS = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
LABELS = torch.tensor([[-100, -100, 7, 8, 9], [-100, 6, 7, -100, -100]])


def test_answers_are_what_is_trained_on_but_for_the_first_position() -> None:
    assert answers(LABELS, MASK) == [[2, 3, 4], [1, 2]]
    assert answers(IDS, None) == [[1, 2, 3, 4], [1, 2, 3, 4]]
    padded = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    assert answers(IDS, padded) == [[3, 4], [1, 2, 3, 4]]


def tapped() -> tuple[torch.nn.Module, PlainTap]:
    model = tiny_llama(layers=3).train()
    tap = PlainTap(model, tiny_tokenizer(), every=2)
    tap.start(Recorder(chosen(model, [1]), {1: "post_block"}))
    return model, tap


def test_a_training_pass_is_read_and_others_are_not() -> None:
    model, tap = tapped()
    with torch.no_grad():
        model(input_ids=IDS, labels=LABELS)  # no gradients
    model(input_ids=IDS)  # no labels
    model.eval()
    model(input_ids=IDS, labels=LABELS)  # evaluation
    model.train()
    assert tap.take() == []
    model(input_ids=IDS, attention_mask=MASK, labels=LABELS)
    (piece,) = tap.take()
    assert piece.lengths == (3, 2)
    assert len(piece.read[1]) == 2 + 1
    assert [sample.prompt_tokens for sample in piece.samples] == [2, 1]
    assert [sample.completion_tokens for sample in piece.samples] == [3, 2]
    assert piece.samples[0].reward is None
    assert tap.take() == []


def test_a_pass_that_fails_leaves_the_tap_ready() -> None:
    model, tap = tapped()
    with pytest.raises(IndexError):
        model(input_ids=IDS + 10_000, attention_mask=MASK, labels=LABELS)
    model(input_ids=IDS, attention_mask=MASK, labels=LABELS)
    assert len(tap.take()) == 1


def test_removed_it_reads_nothing() -> None:
    model, tap = tapped()
    tap.remove()
    model(input_ids=IDS, attention_mask=MASK, labels=LABELS)
    assert tap.take() == []
