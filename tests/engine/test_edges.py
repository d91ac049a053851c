"""Tables of edges and paths: which cells there are, what they hold, what is refused."""

from typing import Any

import numpy as np
import pytest

from sonde.backends.torch.edges import frozen, receivers
from sonde.engine import edges
from sonde.engine.tables import check_table, estimate_table, sweep_table
from sonde.errors import BadRequest
from sonde.nodes import Graph
from sonde.schema.pair import PromptPair
from sonde.schema.table import SweepRequest, TableCell, TableStart, TableSummary
from tests.backends.torch.tiny import backend_of
from tests.scripted import Scripted
from tests.tiny_model import tiny_llama

BACKEND = backend_of(tiny_llama().requires_grad_(False))
MARY, JOHN = "When Mary and John went to the store", "When John and Mary went to the store"


def asked(**fields: Any) -> SweepRequest:
    given: dict[str, Any] = {
        "corrupt": JOHN, "clean": MARY, "answer": " Mary", "foil": " John", "metric": "logit_diff",
        "senders": ["embed", "z:0", "mlp_out:1"], "receivers": ["q:1", "mlp:1", "logits", "total"],
    }  # fmt: skip
    return SweepRequest(**given | fields)


def whole(request: SweepRequest, backend: Any = BACKEND) -> TableSummary:
    *_, summary = sweep_table(backend, request)
    assert isinstance(summary, TableSummary)
    return summary


def grid(found: TableSummary) -> np.ndarray:
    [table] = found.tables
    shape = [len(axis.values) for axis in table.axes]
    return np.array(table.values[found.metric], dtype=np.float64).reshape(shape)


def cell(found: TableSummary, sender: str, receiver: str) -> float:
    [table] = found.tables
    at = table.axes[0].values.index(sender), table.axes[1].values.index(receiver)
    return float(grid(found)[at])


def test_a_table_has_senders_by_receivers_and_no_number_where_there_is_no_edge() -> None:
    start, *cells, summary = sweep_table(BACKEND, asked())
    assert isinstance(start, TableStart)
    assert isinstance(summary, TableSummary)
    [table] = summary.tables
    heads = BACKEND.describe().heads
    assert heads is not None

    assert [axis.name for axis in table.axes] == ["sender", "receiver"]
    assert table.axes[0].values == ["embed", *(f"z:0.{h}" for h in range(heads.heads)), "mlp_out:1"]
    values = grid(summary)
    late = table.axes[0].values.index("mlp_out:1")
    missing = [name for name in table.axes[1].values if str(name).startswith(("q", "mlp"))]
    assert np.isnan(values[late]).sum() == len(missing)
    assert start.cells == sum(isinstance(each, TableCell) for each in cells)
    assert start.cells == int((~np.isnan(values)).sum())
    assert summary.noise_floor == {"logit_diff": 0.0}


def test_controls_carry_nothing_over_every_kind_of_receiver() -> None:
    found = whole(asked(receivers=["q:1.0", "k:1.0", "v:1.0", "mlp:1", "logits", "total"]))
    kinds = sorted((each.hook, each.kind) for each in found.controls)

    hooks = ["q", "k", "v", "mlp_out", "post_block", "z"]
    assert kinds == sorted((hook, kind) for hook in hooks for kind in ("alpha_zero", "self_patch"))
    assert {each.difference for each in found.controls} == {0.0}


def test_a_prompt_that_is_its_own_clean_prompt_has_only_zeros() -> None:
    for kind in ("edge", "path+mlps"):
        found = whole(asked(clean=JOHN, senders=["all"], receivers=["all", "total"], frozen=kind))
        values = grid(found)
        assert set(values[~np.isnan(values)].tolist()) == {found.corrupt["logit_diff"]}


def test_the_embedding_patched_whole_is_the_clean_prompt() -> None:
    found = whole(asked())
    assert found.clean is not None

    assert cell(found, "embed", "total") == pytest.approx(found.clean["logit_diff"], abs=1e-5)
    assert cell(found, "embed", "logits") != cell(found, "embed", "total")


def test_a_path_through_mlps_ends_where_the_direct_effect_does_without_any() -> None:
    """After the last MLP there is none to compute anew: both direct effects are the same."""
    last = BACKEND.describe().n_layers - 1
    request = asked(senders=[f"mlp_out:{last}", "z:0.1"], receivers=["logits"])
    edge, path = (
        grid(whole(request)),
        grid(whole(request.model_copy(update={"frozen": "path+mlps"}))),
    )

    assert edge[0, 0] == path[0, 0]
    assert edge[1, 0] != path[1, 0]


def test_senders_and_receivers_may_be_written_at_once() -> None:
    found = whole(
        asked(senders=["z:0.0+z:0.1+embed", "z:0.0"], receivers=["q:1.0+v:1.0", "v:1.0"],
              frozen="path")
    )  # fmt: skip
    assert len(np.unique(grid(found))) == 4
    [table] = found.tables
    assert table.axes[0].values == ["z:0.0+z:0.1+embed", "z:0.0"]


def test_positions_are_an_axis_where_they_are_asked_for() -> None:
    request = asked(senders=["embed"], receivers=["logits", "total"], positions=[1, 7])
    found = whole(request)
    end = len(BACKEND.tokenize(JOHN)) - 1
    assert [axis.name for axis in found.tables[0].axes] == ["sender", "receiver", "position"]
    assert end == 7
    values, zero = grid(found), found.corrupt["logit_diff"]

    assert values[0, 0, 0] == zero, "logits are read at the end and nowhere else"
    assert values[0, 1, 0] != zero
    assert values.shape == (1, 2, 2)


def test_every_source_of_a_sweep_can_be_sent() -> None:
    values = {
        source: cell(whole(asked(source=source, reference=reference)), "z:0.1", "mlp:1")
        for source, reference in (
            ("clean", None), ("zero", None), ("mean", [MARY, JOHN]), ("resample", [MARY]),
        )
    }  # fmt: skip
    assert values["clean"] == values["resample"]
    assert len(set(values.values())) == 3


def test_half_the_change_is_sent_with_half_the_alpha() -> None:
    """Of what adds up after the last norm but one, half the write is half the change."""
    full, half, none = (
        cell(whole(asked(alpha=alpha)), "z:0.1", "mlp:1") for alpha in (1.0, 0.5, 0.0)
    )
    assert none == whole(asked()).corrupt["logit_diff"]
    assert half - none == pytest.approx((full - none) / 2, rel=0.3)


def test_pairs_have_the_bits_they_have_alone() -> None:
    pairs = [
        PromptPair(clean=before + MARY, corrupt=before + JOHN, answer=" Mary", foil=" John")
        for before in ("", "Then ")
    ]
    gone = dict.fromkeys(("corrupt", "clean", "answer", "foil"))
    both = whole(asked(pairs=pairs, drop_wrong=False, **gone))
    [table] = both.tables

    assert [axis.name for axis in table.axes] == ["pair", "sender", "receiver"]
    np.testing.assert_array_equal(grid(both)[0], grid(whole(asked())))


def test_scores_of_edges_are_verified_in_the_same_call() -> None:
    request = asked(senders=["all"], receivers=["all"], method="attribution", verify=6, sample=6)
    found = whole(request)
    exact = whole(asked(senders=["all"], receivers=["all"]))
    assert found.verification is not None
    n = Graph.of(BACKEND.describe()).n_edges()

    assert found.verification.cells == n
    assert found.verification.verified == 12
    zero = exact.corrupt["logit_diff"]
    assert zero is not None
    for each in found.verification.compared:
        assert each.exact == grid(exact)[tuple(each.at)] - zero
        assert each.attributed == pytest.approx(grid(found)[tuple(each.at)] - zero)


def test_an_estimate_counts_the_edges_and_runs_nothing() -> None:
    cost = estimate_table(BACKEND, asked(senders=["all"], receivers=["all"]))
    assert cost.cells == Graph.of(BACKEND.describe()).n_edges()
    assert cost.seconds > 0
    check_table(BACKEND, asked(senders=["all"], receivers=["all"]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"receivers": None}, "receivers: edges go from `senders` to `receivers`"),
        ({"senders": None}, "senders: edges go from"),
        ({"senders": None, "receivers": None, "frozen": "path"}, "frozen: it is of edges"),
        ({"hooks": ["z"]}, "hooks are not of edges"),
        ({"heads": [1]}, "heads are not of edges"),
        ({"senders": ["z:9.0"]}, "layers are 0 to"),
        ({"senders": ["q:1.0"]}, "q is a receiver"),
        ({"receivers": ["q:0.0"], "senders": ["mlp_out:1"]}, "no edge: every receiver comes"),
        ({"receivers": ["q:1.0+q:1.1"]}, "several at once are a path, frozen='path'"),
        ({"receivers": ["q:1.0+logits"], "frozen": "path"}, "logits stands alone"),
        ({"method": "attribution", "frozen": "path+mlps"}, "no scores to first order"),
    ],
)
def test_what_is_no_table_of_edges_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        check_table(BACKEND, asked(**fields))


def test_another_backend_refuses_by_name() -> None:
    plain: dict[str, Any] = {"foil": None, "metric": "logprob"}
    with pytest.raises(BadRequest, match="the torch backend"):
        check_table(Scripted(), asked(corrupt="The", clean="The", answer=" Paris", **plain))
    for module in (edges, frozen, receivers):
        assert module.__doc__
