"""What is wrong with a request is said in the contract's order, before anything is run for it."""

import itertools
import tracemalloc
from typing import Any

import pytest
from pydantic import ValidationError

from sonde.engine import Limits, sweep
from sonde.engine.plan import check
from sonde.errors import (
    BadRequest,
    BaselineFailed,
    LayerOutOfRange,
    NothingToPatch,
    NotOneToken,
    RequestError,
    SondeError,
    UnknownHook,
    UnknownVector,
)
from sonde.schema import CLASSIC_HOOKS, LayerRange, Mask, PatchSweepRequest
from tests.engine.questions import request
from tests.scripted import LAYERS, Scripted

VECTOR: dict[str, Any] = {"source_run": ..., "clean_prompt": ..., "source_module": "zeros"}

ORDER: list[tuple[int, dict[str, Any], str]] = [
    (2, {"answer_token": ...}, "one of answer_token and answer_token_id is required"),
    (3, {"metric": "logit_diff"}, "logit_diff metric requires foil"),
    (4, {"hooks": []}, "hooks must be a non-empty list"),
    (5, {"hook": "attn"}, "'attn' is not injectable"),
    (6, {"layers": [0, LAYERS]}, rf"layer {LAYERS} is out of range \[0, {LAYERS}\)"),
    (7, {"source_run": ...}, "source_run is required"),
    (16, {"answer_token": " Paris Rome"}, r"tokenizes to 2 tokens \[' Paris', ' Rome'\]"),
    (17, {"prompt": ""}, "baseline generation failed: the prompt has 0 tokens"),
    (18, {"positions": [{"span": "Louvre"}]}, "not found"),
    (20, {"clean_prompt": ""}, r"auto-capture of clean run 'clean' failed \(the prompt has no"),
]
"""Contract check, what causes it, what is said. Each alone, and each pair by the smaller number."""

VECTOR_ORDER: list[tuple[int, dict[str, Any], str]] = [
    (6, {"layers": [-1]}, "layer -1 is out of range"),
    (8, {"source_inline": 0}, "set exactly one of source_module and source_inline"),
    (9, {"source_run": "clean"}, "source_run cannot be combined with a vector source"),
    (10, {"clean_prompt": "The Tower"}, "omit clean_prompt"),
    (11, {"metric": "recovered"}, "'recovered' metric needs a clean baseline"),
    (12, {"source_module": "joy"}, r"unknown source_module 'joy'; available: \['zeros'\]"),
    (14, {"mask": Mask(indices=[0], inline=1)}, "mask takes exactly one of"),
    (16, {"foil_token": " Rome is"}, "foil_token ' Rome is' tokenizes to 2 tokens"),
    (17, {"prompt": " x" * 12}, "baseline generation failed: the prompt has 13 tokens"),
    (18, {"positions": [{"span": ""}]}, "non-empty"),
]


def ids(case: tuple[int, dict[str, Any], str]) -> str:
    return f"{case[0]}-{next(iter(case[1]))}"


def first_error(fields: dict[str, Any]) -> SondeError:
    with pytest.raises(SondeError) as caught:
        next(iter(sweep(Scripted(), request(**fields))))
    return caught.value


@pytest.mark.parametrize("case", ORDER, ids=ids)
def test_each_check_of_a_captured_source_says_what_is_wrong(case: tuple[int, Any, str]) -> None:
    _, fields, message = case
    with pytest.raises(SondeError, match=message):
        next(iter(sweep(Scripted(), request(**fields))))


@pytest.mark.parametrize("case", VECTOR_ORDER, ids=ids)
def test_each_check_of_a_vector_source_says_what_is_wrong(case: tuple[int, Any, str]) -> None:
    _, fields, message = case
    with pytest.raises(SondeError, match=message):
        next(iter(sweep(Scripted(), request(**VECTOR | fields))))


@pytest.mark.parametrize(("cases", "base"), [(ORDER, {}), (VECTOR_ORDER, VECTOR)])
def test_of_two_things_wrong_the_contracts_first_is_said(
    cases: list[tuple[int, dict[str, Any], str]], base: dict[str, Any]
) -> None:
    for (number, first, message), (later, second, _) in itertools.combinations(cases, 2):
        if number < later and not first.keys() & second.keys():
            said = str(first_error(base | first | second))
            assert pytest.raises(SondeError, match=message).matches(SondeError(said)), (
                f"checks {number} and {later}: {said}"
            )


def test_two_wrong_tokens_are_one_check() -> None:
    assert isinstance(first_error({"answer_token": ""}), NotOneToken)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"hooks": ["pre_attn", "attn"]}, UnknownHook),
        ({"layers": [0, -1]}, LayerOutOfRange),
        ({"layers": LayerRange(start=2, stop=9)}, LayerOutOfRange),
        ({"layers": []}, NothingToPatch),
        ({"layers": LayerRange(start=3, stop=3)}, NothingToPatch),
        ({"positions": []}, NothingToPatch),
        ({**VECTOR, "source_module": "joy"}, UnknownVector),
        ({"prompt": ""}, BaselineFailed),
        ({"answer_token": ..., "answer_token_id": 99}, BadRequest),
        ({"answer_token": ..., "answer_token_id": -1}, BadRequest),
    ],
)
def test_refusals_are_errors_of_their_kind(fields: Any, error: type[SondeError]) -> None:
    assert type(first_error(fields)) is error


def test_a_hook_this_model_lacks_is_refused_with_those_it_has() -> None:
    backend = Scripted(hooks=("pre_attn", "post_block"))

    with pytest.raises(UnknownHook, match=r"'mlp_in'.*valid hooks: \['post_block', 'pre_attn'\]"):
        check(request(hook="mlp_in"), backend, {}, Limits())


@pytest.mark.parametrize(
    "fields", [fields for _, fields, _ in ORDER[:7]], ids=lambda fields: next(iter(fields))
)
def test_a_refusal_leaves_the_engine_untouched(fields: dict[str, Any]) -> None:
    backend = Scripted()
    with pytest.raises(RequestError):
        next(iter(sweep(backend, request(**fields))))

    assert backend.log == []
    assert backend.runs == {}


def test_layers_and_hooks_keep_their_order_and_only_hooks_lose_their_doubles() -> None:
    asked = request(hooks=["mlp_out", "pre_attn", "mlp_out"], layers=[3, 0, 3])

    plan = check(asked, Scripted(), {}, Limits())

    assert plan.hooks == ("mlp_out", "pre_attn")
    assert plan.layers == (3, 0, 3)


def test_a_range_of_layers_is_pythons() -> None:
    plan = check(request(layers={"start": 0, "stop": 4, "step": 3}), Scripted(), {}, Limits())

    assert plan.layers == (0, 3)


def test_the_token_id_wins_over_the_string() -> None:
    asked = request(answer_token=" Paris", answer_token_id=10, foil_token_id=3)

    plan = check(asked, Scripted(), {}, Limits())

    assert plan.token_ids == [10, 3]


def test_further_metrics_follow_the_first_without_doubles() -> None:
    asked = request(metric="recovered", metrics=["logprob", "recovered"])

    assert check(asked, Scripted(), {}, Limits()).metrics == ("recovered", "logprob")


@pytest.mark.parametrize(
    "layers", [LayerRange(start=0, stop=10**12), LayerRange(start=-(10**15), stop=10**15)]
)
def test_a_range_beyond_reason_is_refused_without_making_it(layers: LayerRange) -> None:
    tracemalloc.start()
    with pytest.raises(LayerOutOfRange):
        check(request(layers=layers), Scripted(), {}, Limits())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 1_000_000


def test_a_list_of_layers_beyond_reason_is_refused_by_its_length() -> None:
    with pytest.raises(BadRequest, match="4 layers; at most 3 are admitted"):
        check(request(layers=[0] * 4), Scripted(), {}, Limits(layers=3))
    with pytest.raises(ValidationError, match="at most 10000 items"):
        request(layers=[0] * 10_001)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(cells=5), "a grid of 6 cells; at most 5 cells"),
        (Limits(positions=2), "at most 1000000 cells and 2 positions"),
    ],
)
def test_a_grid_over_the_limit_is_refused_before_anything_is_captured(
    limits: Limits, message: str
) -> None:
    backend = Scripted()
    with pytest.raises(BadRequest, match=message):
        next(iter(sweep(backend, request(), limits=limits)))

    assert "capture clean" not in backend.log


@pytest.mark.parametrize("field", ["prompt", "clean_prompt"])
def test_a_prompt_beyond_reason_is_not_even_tokenized(field: str) -> None:
    with pytest.raises(BadRequest, match="a prompt of 60 characters; at most 40"):
        check(request(**{field: "x" * 60}), Scripted(), {}, Limits(prompt_chars=40))


@pytest.mark.parametrize("value", [True, 2.5, "two", None])
@pytest.mark.parametrize("field", ["layers", "positions", "source_positions"])
def test_what_is_no_whole_number_is_no_layer_and_no_position(field: str, value: object) -> None:
    with pytest.raises(ValidationError):
        request(**{field: [0, value]})


@pytest.mark.parametrize("fields", [
    {"layers": {"start": 0, "stop": True}},
    {"positions": [{"span": "is", "occurrence": True}]},
    {"answer_token_id": True},
    {"foil_token_id": False},
    {"source_inline": True},
    {"mask": {"indices": [True]}},
])  # fmt: skip
def test_true_is_not_taken_for_one_anywhere(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="a whole number is wanted, not true or false"):
        request(**fields)


def test_whole_numbers_may_be_spelt_as_the_reference_takes_them() -> None:
    asked = PatchSweepRequest(prompt="x", layers=["3", 2.0], positions=["1"])  # type: ignore[list-item]

    assert asked.layers == [3, 2]
    assert asked.positions == [1]


@pytest.mark.parametrize("alpha", [float("nan"), float("inf"), "inf", "NaN", "-Infinity", None])
def test_alpha_is_a_finite_number(alpha: object) -> None:
    with pytest.raises(ValidationError):
        request(alpha=alpha)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="hoook"):
        request(hoook="pre_attn")


def test_every_hook_is_admitted() -> None:
    assert (
        check(request(hooks=list(CLASSIC_HOOKS)), Scripted(), {}, Limits()).hooks == CLASSIC_HOOKS
    )
