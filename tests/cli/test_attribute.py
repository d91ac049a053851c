"""`sonde attribute`, as it is typed: options of `sonde sweep`, another method, what verified it."""

from pathlib import Path

import pytest

from sonde import Sweep
from sonde.cli.attribute import NODES
from sonde.results.verified import verified
from sonde.schema import Estimate
from tests.cli.shell import refusal, sonde

PROMPTS = (
    "--clean", "When Mary and John went to the store",
    "--corrupt", "When John and Mary went to the store", "--answer", " Mary", "--foil", " John",
)  # fmt: skip


def attribute(tiny: Path, *arguments: object) -> Sweep:
    found = sonde("attribute", "--model", tiny, "--device", "cpu", *PROMPTS, *arguments, "--json")
    assert found.exit_code == 0, found.output
    return Sweep.from_json(found.stdout)


def test_heads_and_mlps_are_scored_and_verified_if_nothing_is_said(tiny: Path) -> None:
    found = attribute(tiny)
    assert found.hooks == NODES.split(",")
    assert found.metric == "logit_diff"
    assert [grid.shape for grid in found.scores.values()] == [(2, 4), (2,)]
    told = found.verification
    assert told is not None
    assert (told.cells, told.verified, told.gradient) == (10, 10, "atp")


def test_the_gradient_the_cells_and_what_is_run_can_be_chosen(tiny: Path) -> None:
    found = attribute(
        tiny, "--gradient", "eap-ig", "--steps", 3, "--hooks", "post_block", "--positions", "all",
        "--verify", 2, "--sample", 3,
    )  # fmt: skip
    told = found.verification
    assert told is not None
    assert (told.gradient, told.steps, told.verified, told.sampled) == ("eap-ig", 3, 5, 3)
    assert found.grids["post_block"].shape[0] == 2


def test_adaptive_finds_the_strongest_cells(tiny: Path) -> None:
    some = ("--hooks", "post_block", "--positions", "all")
    exact = sonde("sweep", "--model", tiny, "--device", "cpu", *PROMPTS, *some, "--json",
                  "--metric", "logit_diff")  # fmt: skip
    found = attribute(tiny, *some, "--adaptive", "--verify", 2, "--sample", 2)
    assert found.top(2, by="abs") == Sweep.from_json(exact.stdout).top(2, by="abs")


def test_the_foot_of_the_output_says_how_far_scores_can_be_trusted(tiny: Path) -> None:
    found = sonde("attribute", "--model", tiny, "--device", "cpu", *PROMPTS, "--verify", 3,
                  "--sample", 2)  # fmt: skip
    assert found.exit_code == 0, found.output
    for words in ("to first order (atp: gradient at the prompt) of 10 cells", "rank correlation",
                  "first 3", "worst miss", "worst error"):  # fmt: skip
        assert words in found.stdout
    assert verified(None) == []


def test_an_estimate_is_of_what_will_be_run(tiny: Path) -> None:
    found = sonde("attribute", "--model", tiny, "--device", "cpu", *PROMPTS, "--estimate", "--json")
    assert Estimate.model_validate_json(found.stdout).cells == 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--metric", "rank"), "metric 'rank' has no slope"),
        (("--gradient", "eap-ig", "--clean", "When Mary went"), "between prompts of one length"),
        (("--adaptive", "--pairs", "agreement:2"), "does not go with"),
    ],
)
def test_what_cannot_be_attributed_is_refused_in_one_line(
    tiny: Path, options: tuple[str, ...], words: str
) -> None:
    prompts = () if "--pairs" in options else PROMPTS
    found = sonde("attribute", "--model", tiny, "--device", "cpu", *prompts, *options)
    assert words in refusal(found)


def test_edges_are_scored_from_every_sender_to_every_receiver(tiny: Path) -> None:
    found = attribute(tiny, "--targets", "edges", "--gradient", "eap-ig", "--verify", 3,
                      "--sample", 2)  # fmt: skip
    told = found.verification
    assert told is not None
    assert (told.cells, told.verified, told.gradient) == (len(found.edges()), 5, "eap-ig")
    some = attribute(tiny, "--targets", "edges", "--senders", "z:0.1,embed", "--receivers", "q:1")
    assert {edge.sender for edge in some.edges()} == {"z:0.1", "embed"}
    refused = sonde("attribute", *PROMPTS, "--targets", "edges", "--hooks", "z")
    assert "--hooks are not of edges" in refusal(refused)
