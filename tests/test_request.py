"""Plain arguments as a request, of the kind that can say them."""

from typing import Any

import numpy as np
import pytest

import sonde
from sonde.errors import BadRequest
from sonde.request import Request, as_classic, sweep_request
from sonde.schema import LayerRange, PatchSweepRequest, SpanPosition
from sonde.schema.table import FeatureAxis, SweepRequest

ASKED: dict[str, Any] = {"clean": "a b", "corrupt": "a c", "answer": " d", "n_layers": 4}


def request(**options: Any) -> Request:
    return sweep_request(**ASKED | options)


def general(**options: Any) -> SweepRequest:
    made = request(**options)
    assert isinstance(made, SweepRequest)
    return made


def classic(**options: Any) -> PatchSweepRequest:
    made = request(**options)
    assert isinstance(made, PatchSweepRequest)
    return made


def test_hooks_layers_and_positions_are_taken_as_people_write_them() -> None:
    asked = general(
        hooks="mlp_in", layers=range(0, 4, 2), positions=["Colosseum", 4, sonde.Span("is")]
    )
    assert asked.hooks == ["mlp_in"]
    assert asked.layers == [0, 2]
    assert asked.positions == [SpanPosition(span="Colosseum"), 4, SpanPosition(span="is")]
    assert general(positions="Colosseum").positions == [SpanPosition(span="Colosseum")]
    assert {general(positions=word).positions for word in ("all", "each", "all_prompt")} == {"each"}
    assert general(positions="together").positions == "together"
    assert general(positions=np.arange(2)).positions == [0, 1]
    assert general(layers=np.arange(2)).layers == [0, 1]
    assert general(layers=LayerRange(start=1, stop=3)).layers == LayerRange(start=1, stop=3)
    assert general().layers is None


def test_answers_are_texts_ids_or_several() -> None:
    assert (general(answer=9, foil=10).answer, general(answer=9, foil=10).foil) == (9, 10)
    assert general(answer=[" d", 7], foil=(" e", " f")).answer == [" d", 7]
    assert general(answer=[" d"]).answer == " d"
    by_id = classic(answer=9, foil=" e", mask={"indices": [0]})
    assert (by_id.answer_token, by_id.answer_token_id, by_id.foil_token) == (None, 9, " e")


@pytest.mark.parametrize(
    "options",
    [
        {"mask": {"indices": [0]}},
        {"source_module": "zeros"},
        {"source_inline": 0},
        {"source_positions": [1]},
        {"clean_baseline": -1.0},
        {"keep_source": True},
        {"source_run": "kept", "clean": None},
    ],
    ids=lambda options: next(iter(options)),
)
def test_what_only_the_classic_request_has_makes_a_classic_request(options: Any) -> None:
    made = classic(**options, alpha=0.5, metrics=["recovered"])
    assert (made.layers, made.positions) == ([0, 1, 2, 3], "all_prompt")
    assert (made.prompt, made.alpha, made.metrics) == ("a c", 0.5, ["recovered"])


def test_an_option_left_at_its_default_decides_nothing() -> None:
    assert isinstance(request(mask=None, keep_source=False, logprobs=20), SweepRequest)


def test_a_classic_sweep_captures_under_a_name_of_its_own_unless_it_needs_none() -> None:
    first, second = (classic(keep_source=True).source_run for _ in range(2))
    assert first != second
    assert classic(keep_source=True, source_run="mine").source_run == "mine"
    assert classic(source_module="zeros").source_run is None
    assert general().source_run is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"positions": "together"}, "positions together"),
        ({"metric": "kl_clean"}, "metric kl_clean"),
        ({"metrics": ["rank"]}, "metric rank"),
        ({"answer": [" d", " e"]}, "more than one answer"),
        ({"foil": [" d", " e"]}, "more than one foil"),
    ],
)
def test_options_of_both_kinds_are_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadRequest, match=f"{words} is for general sweeps, mask for classic ones"):
        request(**options, mask={"indices": [0]})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"aplha": 0.5}, r"sweep\(\) takes no 'aplha'"),
        ({"layers": [True]}, "layers: .*; it was True"),
        ({"alpha": float("nan")}, "alpha: "),
        ({"metric": "acc"}, "metric: "),
        ({"answer": ""}, "answer: "),
        ({"pairing": "best"}, "pairing: "),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadRequest, match=expected) as caught:
        request(**options)
    assert "\n" not in str(caught.value)


def test_the_classic_route_is_asked_the_same() -> None:
    made = as_classic(
        general(foil=" e", metric="logit_diff", metrics=["logprob"], pairing="mean", source_run="r",
                positions=[0, "b"], layers=[1], alpha=0.5, hooks=["mlp_in"], stream=True), 4,
    )  # fmt: skip
    assert made == PatchSweepRequest(
        prompt="a c", clean_prompt="a b", answer_token=" d", foil_token=" e", metric="logit_diff",
        metrics=["logprob"], pairing="mean", source_run="r", layers=[1], alpha=0.5,
        positions=[0, SpanPosition(span="b")], hooks=["mlp_in"], stream=True,
    )  # fmt: skip
    zeros = as_classic(general(source="zero", clean=None), 4)
    assert zeros is not None
    assert (zeros.source_module, zeros.source_run, zeros.layers) == ("zeros", None, [0, 1, 2, 3])


@pytest.mark.parametrize(
    "options",
    [
        {"positions": "together"},
        {"answer": [" d", " e"]},
        {"metric": "prob"},
        {"foil": " e", "metric": "recovered"},
        {"foil": " e", "metrics": ["recovered"]},
        {"source": "zero"},
        {"features": FeatureAxis(layer=0)},
        {"corrupt": [1, 2]},
        {"clean": [1, 2]},
    ],
    ids=str,
)
def test_what_would_mean_something_else_there_is_not_asked_there(options: dict[str, Any]) -> None:
    assert as_classic(general(**options), 4) is None
