"""The sentences about a result."""

from typing import Any

import pytest

from sonde.results import Sweep, wording
from sonde.schema import Hook, Metric, Skipped, SpecialToken, SpecialTokens
from sonde.schema.sweep import Grid
from sonde.schema.table import TableMetric
from tests.results.summaries import (
    LAYERS,
    SHAPES,
    control,
    general,
    provenance,
    summary,
    sweep,
    table,
    timing,
)


@pytest.mark.parametrize(
    ("metric", "label"),
    [
        ("logprob", "log-probability of “·Paris”"),
        ("recovered", "share recovered of “·Paris”"),
        ("logit_diff", "logit difference, “·Paris” over “·Rome”"),
    ],
)
def test_a_metric_is_named_with_its_tokens(metric: Metric, label: str) -> None:
    result = Sweep.of(summary(metric=metric), provenance(foil_token=" Rome"))
    assert wording.metric_label(result) == label


def test_an_answer_given_by_id_is_named_by_id() -> None:
    asked = provenance().model_copy(update={"request": {"answer_token_id": 42}})
    assert wording.metric_label(Sweep.of(summary(), asked)) == "log-probability of token 42"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([], [], "no special tokens, only those of its text"),
        ([(2, "<bos>")], [], "“<bos>” (2) before its text, nothing after it"),
        ([], [(1, "</s>")], "nothing before its text, “</s>” (1) after it"),
        (
            [(2, "a\n"), (3, "b")],
            [(1, "c")],
            "“a\\n” (2), “b” (3) before its text, “c” (1) after it",
        ),
    ],
)
def test_what_a_prompt_gets_is_said(
    before: list[tuple[int, str]], after: list[tuple[int, str]], said: str
) -> None:
    found = SpecialTokens(
        before=[SpecialToken(id=i, text=text) for i, text in before],
        after=[SpecialToken(id=i, text=text) for i, text in after],
    )
    assert wording.prompt_tokens(found) == said


def test_controls_that_match_say_bit_for_bit() -> None:
    result = sweep(controls=[control()] * 4)
    assert wording.controls(result) == "4 of 4 equal the baseline, bit for bit"


def test_controls_that_nearly_match_say_how_nearly() -> None:
    text = wording.controls(sweep(controls=[control(), control(2e-6)]))
    assert text == "2 of 2 equal the baseline within 0.000100 (largest difference 2.00e−6)"


def test_a_control_that_failed_is_named() -> None:
    text = wording.controls(sweep(controls=[control(), control(0.5, passed=False)]))
    assert text == (
        "1 of 2 FAILED: self_patch at post_block, layer 1, position 2 differs by 0.500 "
        "where 0.000100 is allowed"
    )


def test_no_controls_is_said_and_not_passed_over() -> None:
    assert wording.controls(sweep(controls=[])) == "none were run"


def test_the_noise_floor_says_how_much_lies_within_it() -> None:
    assert wording.noise(sweep(noise_floor=None)) == "not measured"
    assert wording.noise(sweep(noise_floor=0.0)).startswith("0: ")
    assert wording.noise(sweep(noise_floor=0.25)) == "0.250; 2 of 6 cells within it"


def test_strongest_leaves_out_what_cannot_be_told_from_the_baseline() -> None:
    assert [site.value for site in wording.strongest(sweep())] == [-1.0, -4.0]
    assert [site.value for site in wording.strongest(sweep(noise_floor=1.5))] == [-1.0]


def test_the_strongest_are_one_a_column_of_each_picture() -> None:
    tall: dict[Hook, Grid] = {
        "post_block": [[-1.0, -4.0], [-1.5, -5.0]],
        "mlp_out": [[-5.0, -2.0], [-5.0, -3.0]],
    }
    found = wording.strongest(Sweep.of(summary(tall), provenance()))
    assert [(each.hook, each.value) for each in found] == [
        ("post_block", -1.0),
        ("mlp_out", -2.0),
        ("post_block", -4.0),
    ]


def test_time_says_how_many_cells_needed_no_work() -> None:
    assert wording.timing(sweep()) == "6 cells in 0.71 s, 8.45 cells/s"
    text = wording.timing(sweep(timing=timing(270, 150)))
    assert text.endswith("; 120 of them could not differ from the baseline")


def test_skipped_positions_are_gathered_by_reason() -> None:
    skipped = [Skipped(position=p, reason="unaligned") for p in (3, 2, 4, 9)]
    skipped += [Skipped(hook="mlp_in", layer=layer, position=1, reason="void") for layer in (0, 1)]
    assert wording.skipped(sweep(skipped=skipped)) == [
        "positions 2–4, 9: unaligned",
        "position 1 (2 cells): void",
    ]


@pytest.mark.parametrize(
    ("metric", "asked", "changes", "label"),
    [
        ("prob", {}, {}, "probability of “·Paris”"),
        ("rank", {"answer": 7}, {}, "rank of token 7"),
        ("top1", {}, {}, "whether “·Paris” is the likeliest token"),
        ("kl_clean", {}, {}, "KL divergence from the clean prompt"),
        ("kl_corrupt", {}, {}, "KL divergence from the corrupt prompt"),
        ("logprob", {"answer": [" a", 7]}, {}, "log-probability of “·a” or token 7"),
        ("prob", {"answer": list("abcde")}, {}, "probability of “a” or “b” or “c” or 2 more"),
        (
            "recovered",
            {"foil": " Rome"},
            {"recovered_of": "logit_diff"},
            "share recovered of “·Paris” over “·Rome”",
        ),
    ],
)
def test_metrics_of_general_sweeps_are_named_too(
    metric: TableMetric, asked: dict[str, Any], changes: dict[str, Any], label: str
) -> None:
    result = general(table(LAYERS, metrics=(metric,)), asked=asked, **changes)
    assert wording.metric_label(result) == label
    unit = {"recovered": "logit difference"}.get(metric)
    assert unit is None or wording.baseline_label(result) == unit


def test_cells_skipped_where_positions_are_together_are_named_by_layer() -> None:
    skipped = [Skipped(hook="mlp_in", layer=layer, position=-1, reason="void") for layer in (0, 1)]
    assert wording.skipped(sweep(skipped=skipped)) == ["layers 0–1: void"]


def test_the_shape_names_every_axis() -> None:
    assert wording.shape(SHAPES["three axes"]) == "1 hook × 3 layers × 2 features × 2 positions"
    assert (
        wording.shape(SHAPES["unlike axes"]) == "1 hook × 3 layers; 1 hook × 3 layers × 2 positions"
    )
