"""Sweeps by attribution: scores where exact values would stand, and what exact runs say of them."""

from typing import Any

import numpy as np
import pytest

from sonde.engine import Limits
from sonde.engine.adaptive import best
from sonde.engine.attributed_pairs import attribute_pairs
from sonde.engine.attribution import sweep_attributed, verified_cells
from sonde.engine.scored import drawn_from, strongest
from sonde.engine.sites import site_cells
from sonde.engine.tables import check_table, estimate_table, sweep_table
from sonde.errors import BadRequest
from sonde.schema.pair import PromptPair
from sonde.schema.table import (
    SweepRequest,
    TableCell,
    TablePair,
    TableStart,
    TableSummary,
    TableVerifying,
)
from tests.backends.torch.gradient.sloping import linear_backend, saturated_backend
from tests.backends.torch.tiny import backend_of
from tests.scripted import Scripted
from tests.tiny_model import tiny_llama

BACKEND = backend_of(tiny_llama().requires_grad_(False))
CLEAN, CORRUPT = "The Eiffel Tower is in the city of", "The big Colosseum is in the city of"
"""Of one length in the scripted vocabulary."""
MARY, JOHN = "When Mary and John went to the store", "When John and Mary went to the store"
"""Of one length in the tiny one."""


def asked(**fields: Any) -> SweepRequest:
    given = {"corrupt": JOHN, "clean": MARY, "answer": " Mary", "method": "attribution"}
    return SweepRequest(**given | {"verify": 5, "sample": 5} | fields)


SCRIPTED: dict[str, Any] = {"corrupt": CORRUPT, "clean": CLEAN, "answer": " Paris"}


def whole(request: SweepRequest, backend: Any = BACKEND) -> TableSummary:
    *_, summary = sweep_table(backend, request)
    assert isinstance(summary, TableSummary)
    return summary


def values(found: TableSummary) -> np.ndarray:
    each = [value for table in found.tables for value in table.values[found.metric]]
    return np.array(each, dtype=np.float64)


@pytest.mark.parametrize("metric", ["logprob", "recovered"])
def test_where_everything_is_linear_scores_are_the_exact_values(metric: str) -> None:
    hooks = ["post_block", "mlp_out"]
    request = asked(hooks=hooks, metric=metric, **SCRIPTED)
    found = whole(request, Scripted())
    exact = whole(request.model_copy(update={"method": "exact"}), Scripted())
    np.testing.assert_allclose(values(found), values(exact), atol=1e-9)
    told = found.verification
    assert told is not None
    assert (told.cells, told.verified, told.sampled, told.gradient) == (72, 10, 5, "atp")
    assert told.spearman == pytest.approx(1)
    assert told.sign_agreement == 1
    assert told.at[0].precision == 1
    assert found.noise_floor == exact.noise_floor
    assert {c.kind for c in found.controls} == {"alpha_zero", "self_patch"}
    assert found.warnings == []


def test_events_are_a_start_all_cells_what_was_verified_and_the_tables() -> None:
    start, *events, summary = sweep_table(BACKEND, asked())
    assert isinstance(start, TableStart)
    assert isinstance(summary, TableSummary)
    cells = [event for event in events if isinstance(event, TableCell)]
    assert len(cells) == start.cells == 16
    assert [cell.values["logprob"] for cell in cells] == summary.tables[0].values["logprob"]
    assert [e.done for e in events if isinstance(e, TableVerifying)][-1] == 10


def test_what_was_run_has_the_very_numbers_of_a_sweep() -> None:
    found = whole(asked(hooks=["post_block", "z"], positions="each"))
    exact = whole(asked(hooks=["post_block", "z"], positions="each", method="exact"))
    base = exact.corrupt["logprob"]
    assert base is not None
    assert found.verification is not None
    for cell in found.verification.compared:
        table = exact.tables[cell.table]
        shape = [len(axis.values) for axis in table.axes]
        value = table.values["logprob"][int(np.ravel_multi_index(cell.at, shape))]
        assert value is not None
        assert cell.exact == value - base
    assert BACKEND.manifests() == {}


def test_the_same_seed_draws_the_same_cells() -> None:
    told = [whole(asked(seed=seed)).verification for seed in (3, 3, 4)]
    drawn = [[c.at for c in each.compared if c.sampled] for each in told if each is not None]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_metric_is_followed_as_a_function_of_what_is_read() -> None:
    """Of probabilities, several answers and answers of several tokens: a small step agrees."""
    small = {"alpha": 0.01, "hooks": ["post_block"], "metrics": ["kl_clean", "prob"]}
    answers: Any = [" Mary", " Rome", " John gave"]
    found = whole(asked(answer=answers, **small))
    exact = whole(asked(answer=answers, method="exact", **small))
    for metric in ("logprob", "prob", "kl_clean"):
        base = exact.corrupt[metric] or 0.0
        moved, expected = (
            np.array(each.tables[0].values[metric], dtype=np.float64) - base
            for each in (found, exact)
        )
        assert np.abs(expected).max() > 1e-6
        np.testing.assert_allclose(moved, expected, atol=0.03 * np.abs(expected).max())


def test_a_model_of_which_attribution_sees_nothing_is_reported_as_such() -> None:
    request = asked(hooks=["q"], positions="each", verify=2, sample=200, foil=" Rome",
                    metric="logit_diff")  # fmt: skip
    found = whole(request, saturated_backend())
    told = found.verification
    assert told is not None
    assert told.largest_miss is not None
    assert abs(told.largest_miss.exact) > 100 * abs(told.largest_miss.attributed)
    [at] = told.at
    assert at.precision < 1
    assert at.stronger_in_sample > 0
    assert any("attribution missed" in line for line in found.warnings)


def test_on_a_linear_model_nothing_is_missed() -> None:
    request = asked(hooks=["post_block", "mlp_out"], verify=10, sample=20, foil=" Rome",
                    metric="logit_diff")  # fmt: skip
    told = whole(request, linear_backend()).verification
    assert told is not None
    assert told.spearman == pytest.approx(1, abs=1e-3)
    assert told.at[-1].precision == 1
    assert told.at[-1].stronger_in_sample == 0


def test_eap_ig_goes_from_one_prompt_to_the_other() -> None:
    found = whole(asked(gradient="eap-ig", steps=3))
    assert found.verification is not None
    assert (found.verification.gradient, found.verification.steps) == ("eap-ig", 3)
    assert not np.array_equal(values(found), values(whole(asked())))
    with pytest.raises(BadRequest, match="prompts of one length, and these have 8 and 6 tokens"):
        whole(asked(gradient="eap-ig", corrupt="When Mary went to the store"))


@pytest.mark.parametrize("metric", ["rank", "top1", "kl_corrupt"])
def test_what_has_no_slope_is_refused_before_anything_runs(metric: str) -> None:
    with pytest.raises(BadRequest, match=f"metric '{metric}' has no slope"):
        check_table(BACKEND, asked(metric=metric))
    with pytest.raises(BadRequest, match=f"metric '{metric}' has no slope"):
        next(sweep_attributed(BACKEND, asked(metric=metric), limits=Limits(), cells_of=site_cells))


def test_nothing_verified_is_said_to_be_nothing_known() -> None:
    found = whole(asked(verify=0, sample=0))
    assert found.verification is not None
    assert (found.verification.at, found.verification.compared) == ([], [])
    assert found.controls != []


def test_an_estimate_is_of_the_cells_that_will_be_run() -> None:
    request = asked(hooks=["post_block", "mlp_out", "attn_out"])
    few = estimate_table(BACKEND, request)
    all_of_them = estimate_table(BACKEND, request.model_copy(update={"method": "exact"}))
    assert few.cells == all_of_them.cells
    assert few.token_layers < all_of_them.token_layers
    assert verified_cells(request, 1000) == 10


@pytest.mark.parametrize("seed", range(4))
def test_an_adaptive_sweep_finds_the_strongest_cells_and_leaves_the_others_empty(seed: int) -> None:
    backend = backend_of(tiny_llama(seed, layers=6).requires_grad_(False))
    fields: dict[str, Any] = {"hooks": ["post_block", "mlp_out", "attn_out", "mlp_in"]}
    exact = whole(asked(method="exact", **fields), backend)
    found = whole(asked(method="adaptive", verify=3, sample=10, **fields), backend)
    base, all_values, some = exact.corrupt["logprob"], values(exact), values(found)
    there = ~np.isnan(some)
    assert 0 < there.sum() < len(some)
    assert np.array_equal(some[there], all_values[there])
    order = np.argsort(-np.abs(all_values - base), kind="stable")[:3]
    assert there[order].all()
    assert any("cells were run" in line for line in found.warnings)
    told = found.verification
    assert told is not None
    assert [at.k for at in told.at] == [3]
    assert told.verified == there.sum()


def pairs(n: int) -> list[PromptPair]:
    words = ["Eiffel", "Tower", "Colosseum", "Great", "Wall", "big", "red", "Rome"]
    return [
        PromptPair(
            clean=f"The {words[i]} is in", corrupt=f"The {words[i + 1]} is in", answer=" Paris"
        )  # fmt: skip
        for i in range(n)
    ]


def test_over_pairs_scores_and_exact_values_are_means() -> None:
    request = SweepRequest(
        pairs=pairs(5), method="attribution", verify=4, sample=4, drop_wrong=False
    )
    events = list(attribute_pairs(Scripted(), request))
    summary = events[-1]
    assert isinstance(summary, TableSummary)
    assert sum(isinstance(event, TablePair) for event in events) == 5
    assert summary.verification is not None
    assert summary.pairs is not None
    assert all(record.noise_floor == {"logprob": 0.0} for record in summary.pairs)
    exact = whole(request.model_copy(update={"method": "exact"}), Scripted())
    np.testing.assert_allclose(values(summary), values(exact), atol=1e-9)
    means = values(exact).reshape(5, -1).mean(0) - exact.corrupt["logprob"]
    for cell in summary.verification.compared:
        shape = [len(axis.values) for axis in exact.tables[0].axes[1:]]
        assert cell.exact == pytest.approx(means[np.ravel_multi_index(cell.at, shape)])
        assert cell.attributed == pytest.approx(cell.exact)


def test_over_pairs_nothing_is_searched_and_directions_come_one_by_one() -> None:
    for fields in ({"method": "adaptive"}, {"method": "attribution", "direction": "both"}):
        request = SweepRequest.model_validate({"pairs": pairs(2), **fields})
        with pytest.raises(BadRequest, match="does not go with first-order scores of `pairs`"):
            check_table(Scripted(), request)


def test_cells_are_drawn_among_those_that_are_left() -> None:
    order = strongest(np.array([0.1, np.nan, -3.0, 0.0]))
    assert order.tolist() == [2, 0, 3]
    assert drawn_from([7, 8, 9], 5, 0) == [7, 8, 9]
    assert drawn_from(range(100), 5, 1) == drawn_from(range(100), 5, 1)
    assert callable(best)
