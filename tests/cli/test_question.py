"""What the options ask, before there is a model."""

import re
from pathlib import Path
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
        ["pair", "pairs", "direction", "keep_wrong", "clean", "corrupt", "mask"]
    )
    several = ("answer", "answer_token_id", "foil", "foil_token_id")
    for name in several:
        given[name] = (
            (given[name],) if isinstance(given.get(name), str | int) else given.get(name, ())
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
        **dict.fromkeys(
            ["source", "kv", "mean_over", "heads", "reference", "senders", "receivers", "frozen"]
        ),
        **dict.fromkeys(["features", "sae", "how", "top", "by", "alike", "draws"]),
        "seed": 0,
    }
    return nothing | usual | given


def test_a_pair_fills_in_what_is_not_given() -> None:
    whole = question(asked(pair="eiffel", metric=("logit_diff",))).prompts
    assert whole == Prompts(EIFFEL.corrupt, EIFFEL.clean, EIFFEL.answer, EIFFEL.foil)
    part = question(asked(pair="eiffel", corrupt="The Louvre is in", foil_token_id=7)).prompts
    assert part == Prompts("The Louvre is in", EIFFEL.clean, EIFFEL.answer, 7)


def test_an_ablation_of_a_pair_takes_no_clean_prompt() -> None:
    found = question(asked(pair="eiffel", ablate="zeros"))
    assert found.prompts.clean is None
    assert found.options["source"] == "zero"


def test_a_pairs_foil_is_used_only_where_a_metric_needs_it() -> None:
    """Beside a foil `recovered` is of the logit difference: who wants that names one."""
    assert question(asked(pair="eiffel", metric=("recovered",))).prompts.foil is None
    named = question(asked(pair="eiffel", metric=("recovered",), foil=" Rome"))
    assert named.prompts.foil == " Rome"


def test_answers_may_be_several() -> None:
    found = question(asked(pair="eiffel", answer=(" Paris", " Lyon"), foil_token_id=(7, 8)))
    assert (found.prompts.answer, found.prompts.foil) == ([" Paris", " Lyon"], [7, 8])
    assert question(asked(pair="eiffel", positions=("together",))).positions == "together"


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
        ({"corrupt": "a", "answer": "b"}, "give --clean, .* or --source zero"),
        ({"pair": "eifel"}, "--pair has no 'eifel'; did you mean 'eiffel'"),
        ({"pair": "ioi", "corrupt": ""}, "--corrupt is empty; give it some text"),
        ({"pair": "ioi", "clean": ""}, "--clean is empty; give it some text"),
        ({"pair": "ioi", "clean": "\udcff"}, "--clean .* is not UTF-8"),
        ({"pair": "ioi", "answer": " a", "answer_token_id": 3}, "--answer or --answer-token-id"),
        ({"pair": "ioi", "hooks": ("post_blok",)}, "'post_blok'; did you mean 'post_block'"),
        ({"pair": "ioi", "metric": ("probb",)}, "'probb'; did you mean 'prob'"),
        ({"pair": "ioi", "answer": ("",)}, "--answer is empty; give it some text"),
        ({"pair": "ioi", "answer": (" a", " a")}, "--answer is given twice with the same value"),
        (
            {"pair": "ioi", "mask": "0", "metric": ("rank",)},
            "--mask does not go with --metric rank",
        ),
        ({"pair": "ioi", "mask": "0", "answer": (" a", " b")}, "with more than one --answer"),
        ({"pair": "ioi", "mask": "0", "positions": ("together",)}, "with --positions together"),
        ({"pair": "ioi", "ablate": "zeros", "metric": ("kl_clean",)}, "kl_clean compares with the"),
        ({"pair": "ioi", "positions": ("together,3",)}, "together takes nothing beside it"),
        ({"pair": "ioi", "source_positions": ("together",)}, "together means nothing"),
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


def test_heads_windows_and_sources_are_part_of_the_question(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("one\n\ntwo\n")
    found = question(
        asked(
            pair="ioi",
            hooks=("z,k",),
            heads="0,1+2",
            kv="reader",
            layers="windows:3",
            positions=(),
            source="mean",
            mean_over="tokens",
            reference=str(prompts),
            seed=4,
        )
    )
    assert found.layers == "windows:3"
    assert found.positions is None
    assert found.options == {
        "alpha": 1.0,
        "source": "mean",
        "kv": "reader",
        "mean_over": "tokens",
        "seed": 4,
        "heads": [0, [1, 2]],
        "reference": ["one", "two"],
    }


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"source": "mean"}, "--source mean needs prompts: give --reference FILE"),
        ({"reference": "x"}, "--reference is for --source mean or resample"),
        ({"source": "zero", "ablate": "zeros"}, "--ablate zeros is --source zero"),
        ({"heads": "a"}, "--heads 'a' cannot be read"),
        ({"source": "mean", "reference": "nowhere.txt"}, "--reference 'nowhere.txt' cannot be"),
    ],
)
def test_sources_that_lack_something_are_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(BadRequest, match=re.escape(why)):
        question(asked(pair="ioi", **given))
