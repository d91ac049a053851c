"""Features of one prompt put in the place of another's: cell by cell what a plain loop finds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sonde.backends.base import FromVector, Row, Site, Work, Write, logprobs_of
from sonde.engine.tables import estimate_table, sweep_table
from sonde.errors import BadRequest
from sonde.results import PairSweep, Provenance, result_of
from sonde.results.feature_table import feature_effects
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.changes import OTHER_ROWS
from sonde.sae.feature_axis import feature_cells
from sonde.sae.feature_layout import EVERYWHERE
from sonde.sae.feature_rank import Ranking, first_by_activation
from sonde.sae.formats.sonde import save_autoencoder
from sonde.sae.own_cells import own_cells
from sonde.schema import Hook
from sonde.schema.pair import PromptPair
from sonde.schema.table import FeatureAxis, SweepRequest, Table, TableSummary
from tests.backends.torch.tiny import backend_of
from tests.sae.reading import WIDTH, mirror
from tests.tiny_model import tiny_llama

CLEAN, CORRUPT = [5, 40, 7, 90, 12, 33], [5, 40, 61, 17, 12, 33]
ANSWER, FOIL, LAYER = 21, 319, 0
BACKEND = backend_of(tiny_llama())
Numbers = NDArray[np.float64]


def lossy(layer: int = LAYER) -> Autoencoder:
    """A dictionary that leaves something over: twice too strong, and with a bias."""
    made = mirror(layer, scale=2.0)
    draw = torch.Generator().manual_seed(3)
    bias = torch.randn(WIDTH, generator=draw)
    return replace(made, b_dec=bias, b_enc=made.b_enc - 0.1)


def asked(axis: dict[str, Any] | None = None, **fields: Any) -> SweepRequest:
    given: dict[str, Any] = {
        "clean": CLEAN,
        "corrupt": CORRUPT,
        "answer": ANSWER,
        "foil": FOIL,
        "features": {"layer": LAYER, "top": 99, "by": "activation", "draws": 0} | (axis or {}),
        "metric": "logit_diff",
    }
    return SweepRequest(**given | fields)


def swept(request: SweepRequest, autoencoder: Autoencoder | None = None) -> TableSummary:
    cells_of = feature_cells(autoencoder or lossy())
    *_, summary = sweep_table(BACKEND, request, cells_of=cells_of)
    assert isinstance(summary, TableSummary)
    assert BACKEND.manifests() == {}
    return summary


def activations(tokens: list[int], hook: Hook = "post_block") -> torch.Tensor:
    taken: torch.Tensor = BACKEND.reader.activations(torch.tensor([tokens]), hook, [LAYER])[LAYER]
    return taken[0]


def difference(vectors: dict[int, NDArray[np.float32]], hook: Any = "post_block") -> float:
    """The logit difference when these are added, asked of the backend, row by row."""
    writes = tuple(
        Write(Site(hook, LAYER, (at,)), FromVector(vector), how="add")
        for at, vector in vectors.items()
    )
    [part] = BACKEND.score([Work(CORRUPT, [Row(writes)], logprobs_of([ANSWER, FOIL]))])
    return float(part.values[0, 0] - part.values[0, 1])


def at(table: Table, row: int | str, column: int | str) -> float | None:
    rows, columns = (axis.values for axis in table.axes)
    return table.values["logit_diff"][rows.index(row) * len(columns) + columns.index(column)]


def test_every_cell_is_what_a_plain_loop_over_features_and_positions_finds() -> None:
    """That is x + (f_clean - f_corrupt) d_i, with the dictionary used as it stands."""
    autoencoder, [table] = lossy(), swept(asked({"error": False})).tables
    dense = [autoencoder.encode(activations(t)).dense(2 * WIDTH) for t in (CLEAN, CORRUPT)]
    change = (dense[0] - dense[1])[:, :, None] * autoencoder.W_dec  # [positions, features, width]
    active = (dense[0] != 0) | (dense[1] != 0)
    checked = 0
    for feature in table.axes[0].values:
        whole = {}
        for position in range(1, len(CORRUPT)):
            vector = change[position, int(feature)].numpy()
            found = at(table, feature, position)
            if not active[position, int(feature)]:
                assert found is None
                continue
            whole[position] = vector
            assert found == pytest.approx(difference({position: vector}), abs=1e-4)
            checked += 1
        assert at(table, feature, EVERYWHERE) == pytest.approx(difference(whole), abs=1e-4)
    assert checked > 60


def test_all_features_and_the_error_together_are_the_residual_cell() -> None:
    found = swept(asked())
    [table] = found.tables
    whole = SweepRequest(
        clean=CLEAN, corrupt=CORRUPT, answer=ANSWER, foil=FOIL, layers=[LAYER], metric="logit_diff"
    )
    *_, residual = sweep_table(BACKEND, whole)
    assert isinstance(residual, TableSummary)
    expected = residual.tables[0].values["logit_diff"]
    for column in table.axes[1].values[:-1]:
        assert at(table, OTHER_ROWS[2], column) == pytest.approx(expected[int(column)], abs=1e-5)


def test_the_error_cell_puts_the_clean_prompt_s_error_in_place_and_leaves_the_features() -> None:
    autoencoder, [table] = lossy(), swept(asked()).tables
    x, y = activations(CLEAN), activations(CORRUPT)
    error = (x - autoencoder.reconstruct(x)) - (y - autoencoder.reconstruct(y))
    for position in (2, 3, 5):
        made = difference({position: error[position].numpy()})
        assert at(table, OTHER_ROWS[1], position) == pytest.approx(made, abs=1e-4)
        features = (x - y)[position] - error[position]
        made = difference({position: features.numpy()})
        assert at(table, OTHER_ROWS[0], position) == pytest.approx(made, abs=1e-4)


def test_a_feature_that_is_equal_in_both_prompts_gives_the_baseline_s_bits() -> None:
    found = swept(asked())
    [table] = found.tables
    dense = lossy().encode(activations(CORRUPT)).dense(2 * WIDTH)
    [same] = {1} & set(table.axes[1].values)  # before the prompts differ
    here = [f for f in table.axes[0].values if isinstance(f, int) and dense[1, f] != 0]
    assert len(here) > 5
    assert {at(table, feature, same) for feature in here} == {found.corrupt["logit_diff"]}
    assert at(table, OTHER_ROWS[2], same) == found.corrupt["logit_diff"]


def test_a_cell_has_the_same_bits_alone_and_among_all_others() -> None:
    whole = swept(asked()).tables[0]
    feature = int(whole.axes[0].values[3])
    alone = swept(asked({"numbers": [feature], "error": False}, positions=[3])).tables[0]
    assert at(alone, feature, 3) == at(whole, feature, 3)
    assert at(alone, feature, EVERYWHERE) == at(whole, feature, EVERYWHERE)


def test_clamping_sets_the_activation_wherever_the_dictionary_reads() -> None:
    autoencoder = lossy()
    found = swept(asked({"how": "clamp", "value": 1.5, "numbers": [3]}), autoencoder)
    [table] = found.tables
    assert found.notes["how"] == "clamp to 1.5"
    dense = autoencoder.encode(activations(CORRUPT)).dense(2 * WIDTH)
    change = (1.5 - dense[:, 3, None]) * autoencoder.W_dec[3]
    assert table.axes[1].values == [1, 2, 3, 4, 5, EVERYWHERE]
    for position in range(1, 6):
        made = difference({position: change[position].numpy()})
        assert at(table, 3, position) == pytest.approx(made, abs=1e-4)
    whole = difference({p: change[p].numpy() for p in range(1, 6)})
    assert at(table, 3, EVERYWHERE) == pytest.approx(whole, abs=1e-4)


def test_a_transcoder_is_read_at_one_hook_and_written_at_the_other() -> None:
    made = replace(lossy(), hook="mlp_in", hook_out="mlp_out")
    [table] = swept(asked({"error": True}), made).tables
    assert table.hook == "mlp_out"
    dense = [made.encode(activations(t, "mlp_in")).dense(2 * WIDTH) for t in (CLEAN, CORRUPT)]
    change = (dense[0] - dense[1])[:, :, None] * made.W_dec
    feature = next(int(f) for f in table.axes[0].values if at(table, f, 3) is not None)
    expected = difference({3: change[3, feature].numpy()}, "mlp_out")
    assert at(table, feature, 3) == pytest.approx(expected, abs=1e-4)
    whole = activations(CLEAN, "mlp_out") - activations(CORRUPT, "mlp_out")
    expected = difference({3: whole[3].numpy()}, "mlp_out")
    assert at(table, OTHER_ROWS[2], 3) == pytest.approx(expected, abs=1e-4)


def test_features_of_a_dictionary_that_normalises_add_up_to_the_residual_too() -> None:
    made = replace(lossy(), norm_in="layer_norm")
    [table] = swept(asked(), made).tables
    whole = (activations(CLEAN) - activations(CORRUPT)).numpy()
    for position in (2, 3):
        expected = difference({position: whole[position]})
        assert at(table, OTHER_ROWS[2], position) == pytest.approx(expected, abs=1e-5)


def test_beside_each_feature_stand_others_whose_change_is_nearest_in_length() -> None:
    found = swept(asked({"numbers": [3, 20], "alike": 2, "draws": 3}))
    kinds = [table.kind for table in found.tables]
    assert kinds == ["cells", "random_direction", "alike"]
    beside = found.tables[2]
    assert beside.axes[0].values == [3, 20]
    assert found.notes["alike"].startswith("0:3 beside 0:")
    named = int(found.notes["alike"].split()[2].partition(":")[2])
    whole = swept(asked({"numbers": [named], "error": False})).tables[0]
    assert beside.values["logit_diff"][0] == at(whole, named, EVERYWHERE)
    effects = feature_effects(found)
    assert [each.feature for each in effects[2:]] == [None] * 3
    assert all(len(each.random) == 3 for each in effects)
    assert {len(each.alike) for each in effects[:2]} == {2}


def test_the_features_with_the_largest_effect_to_first_order_come_first() -> None:
    """With alpha so small that first order is all there is, the ranking is that of the effects."""
    fields = {"alpha": 1e-3, "positions": [3]}
    every = swept(asked({"error": False}, **fields))
    zero = every.corrupt["logit_diff"]
    assert zero is not None
    effects = {each.feature: each for each in feature_effects(every)}
    size = {
        f: max(abs(value) for value in [each.effects.get(3) or 0.0, each.everywhere or 0.0])
        for f, each in effects.items()
    }
    best = sorted(size, key=lambda f: -size[f])[:4]
    found = swept(asked({"by": "attribution", "top": 4, "error": False}, **fields))
    assert found.tables[0].axes[0].values == best
    assert found.notes["chosen"].startswith("4 of ")
    assert "every number here is exact" in found.notes["chosen"]


def pairs() -> list[PromptPair]:
    """Three pairs of one length, of which each has its own features."""
    draw = np.random.default_rng(5)
    out = []
    for _ in range(3):
        clean = [int(t) for t in draw.integers(3, 300, 6)]
        corrupt = [*clean[:2], *(int(t) for t in draw.integers(3, 300, 2)), *clean[4:]]
        out.append(PromptPair(clean=clean, corrupt=corrupt, answer=ANSWER, foil=FOIL))
    return out


def test_over_pairs_every_pair_has_the_bits_it_has_alone() -> None:
    many = SweepRequest(
        pairs=pairs(), drop_wrong=False, metric="logit_diff",
        features=FeatureAxis(layer=LAYER, numbers=[3, 20], draws=2, alike=1),
    )  # fmt: skip
    found = swept(many)
    table = found.tables[0]
    assert [axis.name for axis in table.axes] == ["pair", "feature", "position"]
    assert table.axes[2].values == [0, 1, 2, 3, 4, 5, EVERYWHERE]
    width = len(table.axes[1].values) * len(table.axes[2].values)
    for number, pair in enumerate(pairs()):
        alone = asked({"numbers": [3, 20], "error": True}, clean=pair.clean, corrupt=pair.corrupt)
        single = swept(alone)
        mine = table.values["logit_diff"][number * width : (number + 1) * width]
        for i, row in enumerate(table.axes[1].values):
            for k, column in enumerate(table.axes[2].values):
                there = row in single.tables[0].axes[0].values
                there = there and column in single.tables[0].axes[1].values
                expected = at(single.tables[0], row, column) if there else None
                if expected is None and column != 0:  # active nowhere: nothing is written
                    expected = single.corrupt["logit_diff"]
                assert mine[i * len(table.axes[2].values) + k] == expected, (number, row, column)
    assert found.pairs is not None
    assert found.pairs[0].roles[EVERYWHERE] == [1, 2, 3, 4, 5]
    assert found.notes["dictionary"] == "memory"


def test_over_pairs_features_have_statistics_and_the_comparisons_are_means() -> None:
    many = SweepRequest(
        pairs=pairs(), drop_wrong=False, metric="logit_diff", positions=[-1],
        features=FeatureAxis(layer=LAYER, top=3, by="attribution", draws=4),
    )  # fmt: skip
    found = swept(many)
    assert "over 3 prompts" in found.notes["chosen"]
    source = Provenance.of(BACKEND.describe(), many, versions={})
    result = result_of(found, source)
    assert isinstance(result, PairSweep)
    assert result.p["post_block"].shape == (6, 2)
    for effect in feature_effects(result.table)[:3]:
        assert effect.p is not None
        assert len(effect.random) == 4
    assert any(name == feature_effects(result.table)[0].label for name, _ in result.facts)
    both = swept(many.model_copy(update={"direction": "both"}))
    width = len(found.tables[0].values["logit_diff"]) // 3
    mine = both.tables[0].values["logit_diff"]
    first = both.tables[0].axes[2].values == found.tables[0].axes[1].values
    if first:  # the same features come first of both directions: the same bits
        assert mine[:width] == found.tables[0].values["logit_diff"][:width]


def test_an_estimate_over_pairs_counts_cells_without_reading_a_prompt() -> None:
    many = SweepRequest(
        pairs=pairs(), drop_wrong=False, features=FeatureAxis(layer=LAYER, top=3, draws=4)
    )
    cells = estimate_table(BACKEND, many, cells_of=feature_cells(lossy())).cells
    assert cells == 3 * 6 * (7 + 4)
    assert BACKEND.manifests() == {}


@pytest.mark.parametrize(
    ("axis", "fields", "says"),
    [
        ({"how": "clamp"}, {}, "give both, or neither"),
        ({"value": 2.0}, {}, "give both, or neither"),
        ({"how": "patch"}, {"clean": None}, "name a clean prompt"),
        ({"how": "clamp", "value": 1.0, "error": True}, {}, "no activation to clamp"),
        ({"how": "remove"}, {"pairing": "last"}, "pairing is for features that are patched"),
    ],
)
def test_what_makes_no_sense_together_is_said(
    axis: dict[str, Any], fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadRequest, match=says):
        swept(asked(axis, **fields))


def test_prompts_of_different_length_take_what_their_alignment_says() -> None:
    longer = [*CLEAN[:3], 8, *CLEAN[3:]]
    found = swept(asked({"error": True}, clean=longer, pairing="last"))
    assert found.alignment is not None
    assert found.alignment.pairing == "last"
    [table] = found.tables
    x, y = activations(longer), activations(CORRUPT)
    made = difference({5: (x[6] - y[5]).numpy()})
    assert at(table, OTHER_ROWS[2], 5) == pytest.approx(made, abs=1e-5)


def test_over_prompts_effects_of_one_sign_add_up_and_equal_ones_go_by_number() -> None:
    ranking = Ranking()
    ranking.add({4: np.array([1.0, -3.0]), 2: np.array([0.5, 2.0]), 9: np.array([2.0, 0.0])})
    ranking.add({4: np.array([1.0, 3.0]), 7: np.array([0.0, -2.0])})
    assert ranking.first(3) == [2, 4, 7]
    assert first_by_activation([{1: 0.5, 2: 3.0}, {1: 2.6}], 5) == [1, 2]


def test_a_dictionary_is_named_by_its_path_and_a_shipped_one_only_where_it_fits(
    tmp_path: Path,
) -> None:
    path = save_autoencoder(lossy(), tmp_path / "mine")
    model = BACKEND.describe()
    made = own_cells(FeatureAxis(layer=LAYER, dictionary=str(path)), model)
    assert (made.name, made.autoencoder.d_sae) == ("mine", 2 * WIDTH)
    with pytest.raises(BadRequest, match="features need a dictionary, and none comes"):
        own_cells(FeatureAxis(layer=15), model)
