"""What the options ask, before there is a model."""

from typing import Any

import pytest

from sonde.cli.question import Prompts, question
from sonde.errors import BadRequest
from sonde.prompts import PAIRS, Span
from sonde.schema import Mask, SpanPosition

EIFFEL = PAIRS["eiffel"]


def asked(**given: Any) -> dict[str, Any]:
    """The options as click gives them when only these were typed."""
    nothing = dict.fromkeys(
        ["pair", "clean", "corrupt", "answer", "answer_token_id", "foil", "foil_token_id", "mask"]
    )
    usual = {
        "hooks": ("post_block",),
        "layers": "all",
        "positions": ("all",),
        "metric": ("logprob",),
        "alpha": "1",
        "ablate": None,
        "pairing": None,
        "source_positions": (),
    }
    return nothing | usual | given


def test_a_pair_fills_in_what_is_not_given() -> None:
    whole = question(asked(pair="eiffel")).prompts
    assert whole == Prompts(EIFFEL.corrupt, EIFFEL.clean, EIFFEL.answer, EIFFEL.foil)
    part = question(asked(pair="eiffel", corrupt="The Louvre is in", foil_token_id=7)).prompts
    assert part == Prompts("The Louvre is in", EIFFEL.clean, EIFFEL.answer, 7)


def test_an_ablation_of_a_pair_takes_no_clean_prompt() -> None:
    found = question(asked(pair="eiffel", ablate="zeros"))
    assert found.prompts.clean is None
    assert found.options["source_module"] == "zeros"


def test_everything_typed_is_in_the_question() -> None:
    found = question(
        asked(
            clean="a b",
            corrupt="c d",
            answer=" e",
            foil=" f",
            hooks=("post_block,mlp_out",),
            layers="0,5",
            positions=("0,span:d",),
            metric=("recovered", "logit_diff"),
            alpha="0.5",
            mask="0:3",
            source_positions=("1,span:b",),
        )
    )
    assert found.prompts == Prompts("c d", "a b", " e", " f")
    assert found.hooks == ["post_block", "mlp_out"]
    assert found.layers == [0, 5]
    assert found.positions == [0, Span("d")]
    assert found.metrics == ["recovered", "logit_diff"]
    assert found.options == {
        "alpha": 0.5,
        "mask": Mask(indices=[0, 1, 2]),
        "source_positions": [1, SpanPosition(span="b")],
    }


def test_all_hooks_are_the_models_to_name() -> None:
    assert question(asked(pair="eiffel", hooks=("all",))).hooks is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "no prompt to patch: give --clean, --corrupt and --answer, or begin with"),
        ({"corrupt": "a", "clean": "b"}, "give --answer, such as --answer ' Paris'"),
        ({"corrupt": "a", "answer": "b"}, "give --clean, .* or --ablate zeros"),
        ({"pair": "eifel"}, "--pair has no 'eifel'; did you mean 'eiffel'"),
        ({"pair": "ioi", "corrupt": ""}, "--corrupt is empty; give it some text"),
        ({"pair": "ioi", "clean": ""}, "--clean is empty; give it some text"),
        ({"pair": "ioi", "clean": "\udcff"}, "--clean .* is not UTF-8"),
        ({"pair": "ioi", "answer": " a", "answer_token_id": 3}, "--answer or --answer-token-id"),
        ({"pair": "ioi", "hooks": ("post_blok",)}, "'post_blok'; did you mean 'post_block'"),
        ({"pair": "ioi", "metric": ("prob",)}, "'prob'; did you mean 'logprob'"),
        ({"pair": "ioi", "mask": "x"}, "--mask 'x' cannot be read; write numbers of dimensions"),
        ({"pair": "ioi", "source_positions": ("all",)}, "--source-positions all means nothing"),
        ({"pair": "ioi", "pairing": "last", "source_positions": ("0",)}, "leave --pairing out"),
        ({"pair": "ioi", "ablate": "zeros", "clean": "a"}, "takes no --clean"),
        ({"pair": "ioi", "ablate": "zeros", "pairing": "last"}, "takes no --pairing"),
        ({"pair": "ioi", "ablate": "zeros", "source_positions": ("0",)}, "no --source-positions"),
        ({"pair": "ioi", "ablate": "zeros", "metric": ("recovered",)}, "logprob or logit_diff"),
        (
            {"clean": "a", "corrupt": "b", "answer": "c", "metric": ("logit_diff",)},
            "logit_diff .*: give --foil",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_way_out(
    given: dict[str, Any], expected: str
) -> None:
    with pytest.raises(BadRequest, match=expected):
        question(asked(**given))
