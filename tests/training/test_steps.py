import math
from dataclasses import replace

import numpy as np
import pytest

from sonde.schema.records import Generation, GRPOMetrics
from sonde.training.encoding import Features, Recorded
from sonde.training.lines import NonFinite
from sonde.training.steps import Names, StepLines, step_metrics
from sonde.training.steps import step_lines as lines_of
from tests.training.test_pieces import sample


def recorded(index: int, length: int, batch: int = 0) -> Recorded:
    one = Features(np.array([[1]]), np.array([[1.0]], np.float32), np.array([1.0], np.float32))
    return Recorded(replace(sample(index), batch=batch), length, length, {0: one})


def step_lines(run: str, step: int, recorded: list[Recorded], wrong: NonFinite) -> StepLines:
    return lines_of(run, step, Names().of(step, recorded), wrong)


def test_tokens_are_numbered_through_the_step_in_the_order_of_generation() -> None:
    shuffled = [recorded(3, 4), recorded(0, 2), recorded(1, 5, batch=1), recorded(1, 3)]
    lines = step_lines("run", 9, shuffled, NonFinite())
    spans = [(each.token_start, each.token_end) for each in lines.generations]
    assert spans == [(0, 2), (2, 5), (5, 9), (9, 14)]
    assert [each.generation_id for each in lines.generations] == ["9-0", "9-1", "9-2", "9-3"]
    assert [each.group_id for each in lines.generations] == ["9-0", "9-0", "9-1", "9-2"]
    starts = [chunk.lines.split(b'"token_index":')[1].split(b",")[0] for chunk in lines.records]
    assert [int(start) for start in starts] == [0, 2, 5, 9]


def test_the_last_token_of_a_prompt_is_the_last_place_of_its_generation() -> None:
    """So its record joins to it as any other does, and no other token's number changes."""
    with_it = [replace(recorded(index, 3), features={}, prompt=True) for index in range(2)]
    first, second = step_lines("run", 1, with_it, NonFinite()).generations
    assert (first.token_start, first.token_end, first.prompt_token) == (0, 4, 3)
    assert (second.token_start, second.token_end, second.prompt_token) == (4, 8, 7)
    (without,) = step_lines("run", 1, [recorded(0, 3)], NonFinite()).generations
    assert (without.token_end, without.prompt_token) == (3, None)


def test_06_a_completion_keeps_its_name_and_its_group_and_its_passes_are_numbered() -> None:
    names, wrong = Names(), NonFinite()
    steps = [
        [recorded(0, 2), recorded(1, 3)],
        [recorded(1, 3), recorded(0, 2)],  # the same batch, shuffled otherwise
        [recorded(0, 4, batch=1), recorded(0, 2)],  # a third time, beside a new one
        [recorded(0, 2, batch=1), recorded(0, 2, batch=1)],  # twice in one step
    ]
    said = [
        [
            (line.generation_id, line.group_id, line.pass_number, line.token_start)
            for line in lines_of("run", step, names.of(step, done), wrong).generations
        ]
        for step, done in enumerate(steps, start=1)
    ]
    assert said == [
        [("1-0", "1-0", 1, 0), ("1-1", "1-0", 1, 2)],
        [("1-0", "1-0", 2, 0), ("1-1", "1-0", 2, 2)],
        [("1-0", "1-0", 3, 0), ("3-1", "3-0", 1, 2)],
        [("3-1", "3-0", 2, 0), ("3-1", "3-0", 3, 2)],
    ]


def test_names_of_old_batches_are_forgotten() -> None:
    names = Names()
    for batch in range(50):
        names.of(batch + 1, [recorded(0, 1, batch=batch)])
    assert len(names.passes) == 2


def test_a_completion_without_records_keeps_its_line_and_its_tokens() -> None:
    left_out = replace(recorded(0, 4), features={})
    lines = step_lines("run", 1, [left_out, recorded(1, 2)], NonFinite())
    assert [each.token_start for each in lines.generations] == [0, 4]
    assert len(lines.records) == 1


def test_a_line_says_what_is_known_and_null_for_the_rest() -> None:
    known = replace(sample(0), reward=0.5, parts=(1.0, 0.5, None, math.nan), advantage=math.inf)
    (line,) = step_lines("run", 1, [Recorded(known, 0, 1, {})], NonFinite()).generations
    assert (line.R, line.R_A, line.R_B, line.R_C, line.R_D) == (0.5, 1.0, 0.5, None, None)
    assert line.gate is True
    assert line.advantage is None
    plain = step_lines("run", 1, [Recorded(sample(0), 0, 1, {})], NonFinite()).generations[0]
    assert (plain.R, plain.gate) == (None, None)
    assert {field.alias or name for name, field in Generation.model_fields.items()} >= {
        "schema",
        "token_start",
    }


def test_the_nine_numbers_of_a_step() -> None:
    rewards = [0.0, 0.5, 1.0]
    samples = [
        replace(
            sample(i), reward=reward, advantage=reward - 0.5, parts=(float(i > 0), None, None, None)
        )
        for i, reward in enumerate(rewards)
    ]
    samples[0] = replace(samples[0], invalid=True)
    found = step_metrics(4, samples)
    assert list(GRPOMetrics.model_fields) == list(found.model_dump())
    assert found.model_dump() == pytest.approx(
        {
            "iteration": 4,
            "rewards_mean": 0.5,
            "rewards_std": 0.5,
            "rewards_min": 0.0,
            "rewards_max": 1.0,
            "advantage_mean": 0.0,
            "advantage_std": 0.5,
            "r_a_pass_rate": 2 / 3,
            "n_invalid_compositions": 1,
        }
    )


def test_rewards_that_nobody_gave_are_not_zeros() -> None:
    samples = [replace(sample(0), reward=1.0), sample(1), replace(sample(2), reward=math.nan)]
    found = step_metrics(1, samples)
    assert found.rewards_mean == 1.0
    assert found.rewards_std is None
    assert found.r_a_pass_rate is None
    assert step_metrics(1, []).rewards_mean is None
