from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from sonde.training import SidecarCallback
from sonde.training.plain_tap import PlainTap, length_limit, texts_of
from sonde.training.recorder import Recorder, chosen
from tests.tiny_model import tiny_llama, tiny_tokenizer
from tests.training import tiny_run

IDS = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
LABELS = torch.tensor([[-100, -100, 7, 8, 9], [-100, 6, 7, -100, -100]])


def answers(labels: torch.Tensor, mask: torch.Tensor | None) -> list[list[int]]:
    return [list(text.answer) for text in texts_of(labels, mask, None)]


def test_texts_that_were_packed_into_a_row_are_told_apart() -> None:
    labels = torch.tensor([[-100, 6, 7, -100, -100, 5, 6, 7]])
    numbers = torch.tensor([[0, 1, 2, 0, 1, 2, 0, 1]])
    found = texts_of(labels, None, numbers)
    assert [(text.row, text.prompt, list(text.answer)) for text in found] == [
        (0, [0], [1, 2]),
        (0, [3, 4], [5]),
        (0, [6], [7]),
    ]


def test_a_row_that_trains_nothing_is_all_prompt() -> None:
    (text, padding) = texts_of(torch.full((2, 3), -100), torch.tensor([[0, 1, 1], [0, 0, 0]]), None)
    assert (text.prompt, list(text.answer)) == ([1, 2], [])
    assert (padding.prompt, list(padding.answer)) == ([], [])


@pytest.mark.parametrize(
    ("limit", "last", "cut"),
    [
        (5, 9, True),  # as long as texts may be, and no end
        (5, 0, False),  # it ends there by itself
        (6, 9, False),  # shorter: a text that never had an end, such as a chat's last newline
        (None, 9, False),  # nobody cuts anything
    ],
)
def test_a_text_is_truncated_where_it_was_cut_at_the_limit(
    limit: int | None, last: int, cut: bool
) -> None:
    model = tiny_llama(layers=3).train()
    tap = PlainTap(model, tiny_tokenizer(), every=1, limit=limit)
    tap.start(Recorder(chosen(model, [1]), {1: "post_block"}))
    ids = torch.tensor([[5, 6, 7, 8, last]])
    model(input_ids=ids, labels=ids)
    assert [sample.truncated for sample in tap.take()[0].samples] == [cut]


def test_the_limit_is_the_trainers_or_the_tokenizers() -> None:
    boundless = SimpleNamespace(model_max_length=int(1e30))
    assert length_limit(SimpleNamespace(max_length=64), boundless) == 64
    assert length_limit(SimpleNamespace(max_length=None), boundless) is None
    assert length_limit(SimpleNamespace(), SimpleNamespace(model_max_length=2048)) == 2048
    assert length_limit(SimpleNamespace(), None) is None


@pytest.mark.slow
@pytest.mark.parametrize("packing", [False, True])
def test_rows_of_an_sft_trainer_have_their_prompt_length_and_say_what_was_cut(
    tmp_path: Path, packing: bool
) -> None:
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    model, tokenizer = tiny_run.policy()
    rows = [
        {"prompt": "The Eiffel Tower is in the city", "completion": " of Paris, as is the Louvre"},
        {"prompt": "The Colosseum is", "completion": " in Rome"},
    ]
    args = SFTConfig(
        output_dir=str(tmp_path), per_device_train_batch_size=2, max_steps=1, use_cpu=True,
        bf16=False, report_to="none", disable_tqdm=True, save_strategy="no",
        logging_strategy="no", gradient_checkpointing=False, max_length=12, packing=packing,
    )  # fmt: skip
    SFTTrainer(
        model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[SidecarCallback(tiny_run.saes(), record_every_n_tokens=1)],
    ).train()
    found = {
        line["prompt"]: (line["prompt_tokens"], line["completion_tokens"], line["truncated"])
        for line in tiny_run.lines(tmp_path / "generations.jsonl")
    }
    lengths = [len(tokenizer(row["prompt"])["input_ids"]) for row in rows]
    assert found == {
        rows[0]["prompt"]: (lengths[0], 12 - lengths[0], True),
        rows[1]["prompt"]: (lengths[1], 3, False),
    }
    assert len(list(tiny_run.joined(tmp_path))) == 2 * (12 - lengths[0] + 3)


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
