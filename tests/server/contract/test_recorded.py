"""`POST /v1/patch_sweep` and what is around it answer as they did, whatever computes behind."""

import json
import math
from dataclasses import replace

import pytest

from tests.server.contract.classic import STEPS
from tests.server.contract.recorded import (
    FILE,
    Answer,
    Recording,
    arithmetic,
    close,
    differences,
    record,
    settled,
)

AGAIN = "if that is meant, `python -m tests.server.contract.recorded --write`"


def test_the_answers_are_those_that_were_recorded() -> None:
    """Byte for byte where the machine computes as the recording's did; else all but the floats."""
    held, now = Recording.read(), record()
    exact = now.arithmetic == held.arithmetic
    found = differences(held.answers, now.answers, exact=exact)
    some = "\n".join(found[:5])
    assert not found, f"{len(found)} of {len(STEPS)} answers are others; {AGAIN}\n{some}"
    if not exact:
        pytest.skip("equal but for the last bits of floats: the arithmetic is not the recording's")


def test_the_recording_is_small_and_of_at_least_a_hundred_requests_each_with_its_name() -> None:
    assert FILE.stat().st_size < 300_000
    names = [answer.step["name"] for answer in Recording.read().answers]
    assert len(set(names)) == len(names) >= 100
    assert names == [step.name for step in STEPS], AGAIN


def test_the_machines_arithmetic_is_the_same_each_time_it_is_asked_for() -> None:
    assert arithmetic() == arithmetic()


@pytest.fixture(scope="module")
def held() -> list[Answer]:
    """Answers to a sweep, as a body and as a stream."""
    by_name = {answer.step["name"]: answer for answer in Recording.read().answers}
    return [by_name["metric recovered"], by_name["metric recovered, streamed"]]


def changed(answers: list[Answer], old: str, new: str) -> list[Answer]:
    """The answers with one place of each changed."""
    assert all(old in answer.body for answer in answers), old
    return [replace(a, body=a.body.replace(old, new, 1)) for a in answers]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"noise_floor"', '"noise"'),
        ('"captured_source_run":"clean"', '"captured_source_run":null'),
        ('"positions":[0,1,2', '"positions":[0,2,1'),
        ('"passed":true', '"passed":false'),
        ('"layer":2', '"layer":3'),
        ('"cells":36', '"cells":36.0'),
        ('"hook_grids":null', '"hook_grids": null'),
        ('"hook_grids":null,', ""),
    ],
)
def test_whatever_is_no_float_shows_on_any_machine(held: list[Answer], old: str, new: str) -> None:
    for exact in (True, False):
        assert len(differences(held, changed(held, old, new), exact=exact)) == len(held)


def test_a_float_shows_by_its_last_bit_and_elsewhere_when_it_is_far_off(held: list[Answer]) -> None:
    (grid,) = (json.loads(answer.body)["grid"] for answer in held[:1])
    value = grid[0][2]
    bit = changed(held, repr(value), repr(math.nextafter(value, 1)))
    assert len(differences(held, bit, exact=True)) == len(held)
    assert differences(held, bit, exact=False) == []
    far = changed(held, repr(value), repr(value + 2e-4))
    assert len(differences(held, far, exact=False)) == len(held)
    null = changed(held, repr(value), "null")
    assert len(differences(held, null, exact=False)) == len(held)


def test_cells_in_another_order_and_answers_too_few_show(held: list[Answer]) -> None:
    stream = held[1]
    events = stream.body.split("\n\n")
    events[2], events[-4] = events[-4], events[2]
    turned = replace(stream, body="\n\n".join(events))
    assert differences([stream], [turned], exact=False)
    assert differences(held, held[:1], exact=False)
    assert differences(held, [replace(a, status=201) for a in held], exact=False)
    assert differences(held, [replace(a, headers={}) for a in held], exact=False)


@pytest.mark.parametrize(
    ("was", "now", "same"),
    [
        ("1.00001,2", "1.00002,2", True),
        ("[-8.6e-7]", "[0.0]", True),
        ("they are -8.64381 and", "they are -8.64382 and", True),
        ("900.01", "900.05", True),
        ("1.001", "1.002", False),
        ("1", "2", False),
        ("ab1e5f", "ab1e6f", False),
        ('"0.1.0"', '"0.1.1"', False),
        ("1.5", "1.5 ", False),
    ],
)
def test_texts_are_close_when_only_their_floats_differ_and_little(
    was: str, now: str, same: bool
) -> None:
    assert close(was, now) is same


def test_what_differs_from_run_to_run_is_settled_and_nothing_else() -> None:
    sweep = "0123456789abcdef" * 2
    names = {sweep: "<mine>", "feedbeef": "<weights>"}
    for text, wanted in {
        f'{{"id":"{sweep}","weights":"feedbeef"}}': '{"id":"<mine>","weights":"<weights>"}',
        f'"id":"{sweep[::-1]}"': '"id":"<id>"',
        '"age_seconds":1.5e-3,"lease_seconds":null': '"age_seconds":0,"lease_seconds":null',
        '"total_seconds": 0.25,"cells":4': '"total_seconds": 0,"cells":4',
        '"created":"2026-01-02T03:04:05.678Z","ended":null': '"created":"<time>","ended":null',
        '"versions":{"sonde":"1"},"x":"1"': '"versions":{"sonde":"<version>"},"x":"1"',
        ': heartbeat\n\ndata: {"value":1.5}\n\n': 'data: {"value":1.5}\n\n',
        '"generation":12,"bytes":46080': '"generation":0,"bytes":46080',
    }.items():
        assert settled(text, names) == wanted
