"""Prompts share chunks where that changes no bit, and only as many as are worth it."""

from dataclasses import replace

import pytest

from sonde.backends.base import Column, Readout, Row, Work
from sonde.backends.torch.packed.rows import CUDA_FIXED_ROWS
from sonde.backends.torch.packed.windows import PROMPTS, side_by_side, together
from sonde.errors import BadRequest
from tests.backends.torch.tiny import asked, prompt, tiny_backend

BACKEND = tiny_backend()
PATH, MODEL = BACKEND._path, BACKEND.describe()


def grouped(work: list[Work], **changes: object) -> list[list[int]]:
    path = replace(PATH, **changes)  # type: ignore[arg-type]
    return [[number for number, _ in some] for some in together(work, path, MODEL)]


def short(n: int, rows: int = 1) -> Work:
    return asked(prompt(n, 1), [Row()] * rows)


def test_short_prompts_of_any_length_go_together() -> None:
    assert grouped([short(9), short(20), short(12)]) == [[0, 1, 2]]


def test_there_are_at_most_so_many_in_a_group() -> None:
    assert [len(some) for some in grouped([short(9)] * (PROMPTS + 3))] == [PROMPTS, 3]


def test_a_group_ends_when_its_cells_fill_some_chunks() -> None:
    large = short(60, rows=500)  # 15,000 rows of 16,384

    assert grouped([large, short(9), large, short(9)]) == [[0, 1], [2, 3]]
    assert grouped([short(60, rows=5000)]) == [[0]]


def test_a_prompt_that_is_read_at_several_positions_is_by_itself() -> None:
    several = Work(prompt(9, 1), [Row()], Readout((Column("logprob", 5, 3),)))

    assert grouped([short(9), several, short(9), short(9)]) == [[0], [1], [2, 3]]


def test_where_bits_depend_on_the_length_only_equal_ones_go_together() -> None:
    assert grouped([short(9), short(9), short(12)], shape=CUDA_FIXED_ROWS) == [[0, 1], [2]]


def test_whole_sequences_are_never_mixed() -> None:
    assert grouped([short(9), short(9)], name="whole_sequence") == [[0], [1]]


def test_what_is_wrong_with_work_is_said_before_its_group_is_run() -> None:
    with pytest.raises(BadRequest, match="no tokens"):
        grouped([short(9), asked([], [Row()])])


def test_unpatched_prompts_are_run_side_by_side_up_to_some_rows() -> None:
    prompts = [tuple(prompt(60, seed)) for seed in range(12)]

    assert [len(some) for some in side_by_side(prompts, on_cpu=True)] == [8, 4]
    assert [len(some) for some in side_by_side(prompts, on_cpu=False)] == [12]
    assert list(side_by_side([], on_cpu=True)) == []
