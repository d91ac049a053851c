"""A sweep over features: what is subtracted, and what that does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from sonde.backends.base import FromVector, Row, Work, Write, logprobs_of, write_at
from sonde.engine import Limits
from sonde.engine.tables import estimate_table, sweep_table
from sonde.errors import BadRequest, LayerOutOfRange
from sonde.results.feature_table import FeatureEffect, feature_effects
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.changes import random_direction
from sonde.sae.feature_axis import feature_cells
from sonde.sae.feature_layout import EVERYWHERE
from sonde.sae.seen import direction_of, look
from sonde.schema.table import SweepRequest, Table, TableStart, TableSummary
from tests.backends.torch.tiny import backend_of
from tests.sae.reading import WIDTH, mirror
from tests.tiny_model import tiny_llama

TOKENS = [5, 40, 7, 90, 12, 33]
ANSWER = 21
BACKEND = backend_of(tiny_llama())
RECORDED: dict[int, tuple[list[float | None], float]] = {
    11: ([0.04162, -0.1281257, 0.4829769, 0.3255796, 3.3805382], 3.8695762),
    19: ([0.0231462, 0.1100791, 0.4408631, 0.3868024, 0.260778], 1.4973114),
    13: ([None, -0.0727065, 0.2874734, 0.1889021, 0.3496218], 0.5002916),
    5: ([-0.1004303, -0.0931864, -0.0390263, -0.0763595, 0.4670115], 0.1673021),
}
"""Effects at positions 1 to 5 and everywhere, of the dictionary `mirror(0)`, as they were when an
engine of its own removed features by setting what is left. The foil was 319, the baseline -6.18829.
"""


def asked(axis: dict[str, Any] | None = None, **fields: Any) -> SweepRequest:
    given: dict[str, Any] = {
        "corrupt": TOKENS,
        "answer": ANSWER,
        "features": {"layer": 0, "by": "activation"} | (axis or {}),
    }
    return SweepRequest(**given | fields)


def swept(
    request: SweepRequest, autoencoder: Autoencoder | None = None, **options: Any
) -> TableSummary:
    cells_of = feature_cells(autoencoder or mirror(0))
    start, *cells, summary = sweep_table(BACKEND, request, cells_of=cells_of, **options)
    assert isinstance(start, TableStart)
    assert isinstance(summary, TableSummary)
    assert start.cells == len(cells)
    assert BACKEND.manifests() == {}
    return summary


def removed(axis: dict[str, Any] | None = None, **fields: Any) -> list[FeatureEffect]:
    return feature_effects(swept(asked(axis, **fields)))


def rows_of(request: SweepRequest, autoencoder: Autoencoder) -> tuple[list[Table], list[list[Row]]]:
    """The tables and the rows behind their cells, not run."""
    kept: list[Any] = []

    def cells_of(setting: Any, *, reckoned: bool = False) -> Any:
        kept.append(feature_cells(autoencoder)(setting, reckoned=reckoned))
        return kept[0]

    estimate_table(BACKEND, request, cells_of=cells_of)
    [cells] = kept
    return cells.tables, [[panel.row(n) for n in panel.cells()] for panel in cells.panels]


def activations() -> np.ndarray[Any, np.dtype[np.float32]]:
    """What the model has at the dictionary's site: [positions, width]."""
    taken: torch.Tensor = BACKEND.reader.activations(torch.tensor([TOKENS]), "post_block", [0])[0]
    return taken[0].numpy()


def difference(writes: tuple[Write, ...], foil: int) -> float:
    """The logit difference of one row, asked of the backend itself."""
    [part] = BACKEND.score([Work(TOKENS, [Row(writes)], logprobs_of([ANSWER, foil]))])
    return float(part.values[0, 0] - part.values[0, 1])


def test_removing_a_dimension_is_setting_it_to_zero() -> None:
    """The mirror's features are the dimensions, so the effect is known from another write."""
    found = swept(asked())
    foil, baseline = int(found.notes["foil_id"]), found.corrupt["logit_diff"]
    assert baseline is not None
    checked = 0
    for each in feature_effects(found):
        mask = np.zeros(WIDTH, np.float32)
        assert each.feature is not None
        mask[each.feature % WIDTH] = 1
        zeros = FromVector(np.zeros(WIDTH, np.float32))
        writes = {
            at: write_at("post_block", 0, int(at), zeros, 1.0, mask) for at in each.activations
        }  # the dimension itself, at every position where the feature is active
        for at, effect in each.effects.items():
            assert effect is not None
            expected = difference((writes[at],), foil)
            assert baseline + effect == pytest.approx(expected, abs=1e-5)
            checked += 1
        assert each.everywhere is not None
        expected = difference(tuple(writes.values()), foil)
        assert baseline + each.everywhere == pytest.approx(expected, abs=1e-5)
    assert checked > 8


def test_the_numbers_are_those_recorded_before_there_was_an_axis() -> None:
    found = swept(asked())
    assert found.notes["foil_id"] == "319"
    assert found.corrupt["logit_diff"] == pytest.approx(-6.1882851, abs=1e-5)
    effects = {each.feature: each for each in feature_effects(found)}
    for feature, (alone, everywhere) in RECORDED.items():
        made = [effects[feature].effects.get(at) for at in range(1, 6)]
        assert made == [None if x is None else pytest.approx(x, abs=1e-5) for x in alone]
        assert effects[feature].everywhere == pytest.approx(everywhere, abs=1e-5)


def test_a_feature_without_a_decoder_row_leaves_the_baseline_s_bits() -> None:
    autoencoder = mirror(0)
    W_dec = autoencoder.W_dec.clone()
    W_dec[11] = 0
    found = swept(asked({"numbers": [11]}), replace(autoencoder, W_dec=W_dec))

    for table in found.tables:
        assert set(table.values["logit_diff"]) == {found.corrupt["logit_diff"]}


def test_only_positions_where_the_feature_is_active_are_written() -> None:
    tables, rows = rows_of(asked({"numbers": [13], "draws": 3}), mirror(0))
    x = activations()
    active = [at for at in range(1, len(TOKENS)) if x[at, 13] > 0]
    assert len(active) < len(TOKENS) - 1
    assert tables[0].axes[1].values == [*active, EVERYWHERE]

    *alone, everywhere = rows[0]
    for at, row in zip(active, alone, strict=True):
        assert [write.site.positions for write in row.writes] == [(at,)]
    for row in [everywhere, *rows[1]]:
        assert [write.site.positions for write in row.writes] == [(at,) for at in active]
    assert all(write.how == "add" for made in rows for row in made for write in row.writes)


def test_a_cell_where_the_feature_is_not_active_is_null_and_not_run() -> None:
    found = swept(asked({"numbers": [11, 13], "draws": 0}))
    [table] = found.tables
    assert table.axes[0].labels == ["0:11", "0:13"]
    assert table.axes[1].values == [1, 2, 3, 4, 5, EVERYWHERE]
    assert table.activations is not None

    nulls = [value is None for value in table.values["logit_diff"]]
    assert nulls == [value == 0 for value in table.activations]
    assert sum(nulls) == 1
    assert found.timing.cells == len(nulls) - 1
    assert [(s.position, s.reason) for s in found.skipped] == [
        (0, "an attention sink, which no dictionary is trained on")
    ]


def test_what_is_subtracted_is_what_the_feature_adds_to_the_reconstruction() -> None:
    autoencoder = replace(mirror(0), norm_in="unit_norm")
    seen = look(autoencoder, activations())
    number = seen.active.rows()[-1][0][0]
    x = torch.from_numpy(activations())[seen.positions]
    mine = seen.active.indices == number
    without = replace(seen.active, values=seen.active.values.where(~mine, 0.0))
    added = autoencoder.decode(seen.active, x) - autoencoder.decode(without, x)

    for at, share in seen.shares[number].items():
        expected = added[seen.positions.index(at)].numpy()
        direction = direction_of(autoencoder, number)
        np.testing.assert_allclose(share.strength * direction, expected, atol=1e-5)


def test_random_directions_are_as_long_as_what_was_removed_at_each_position() -> None:
    autoencoder = mirror(0, scale=2.0)  # a decoder row of length 2
    _, (removals, shams) = rows_of(asked({"numbers": [11], "draws": 4}), autoencoder)
    everywhere = removals[-1]

    def lengths(row: Row) -> list[float]:
        sources = [write.source for write in row.writes]
        assert all(isinstance(source, FromVector) for source in sources)
        return [
            abs(write.alpha) * float(np.linalg.norm(write.source.values))  # type: ignore[union-attr]
            for write in row.writes
        ]

    for sham in shams:
        assert lengths(sham) == pytest.approx(lengths(everywhere), rel=1e-5)
    assert len({sham.writes[0].source.values.tobytes() for sham in shams}) == 4  # type: ignore[union-attr]


def test_a_random_direction_is_subtracted_like_the_feature() -> None:
    found = swept(asked({"numbers": [11], "draws": 2, "seed": 7}))
    x, foil = activations(), int(found.notes["foil_id"])
    for draw, value in enumerate(found.tables[1].values["logit_diff"]):
        direction = random_direction(WIDTH, 7, 11, draw)
        writes = [
            write_at("post_block", 0, at, FromVector(x[at] - x[at, 11] * direction))
            for at in range(1, len(TOKENS))
            if x[at, 11] > 0
        ]
        assert value == pytest.approx(difference(tuple(writes), foil), abs=1e-5)


def test_a_feature_s_random_directions_depend_on_the_seed_and_on_no_other_feature() -> None:
    one, beside, other = (
        removed({"numbers": [11], "seed": 1}),
        removed({"numbers": [19, 11], "seed": 1}),
        removed({"numbers": [11], "seed": 2}),
    )
    assert one[0] == next(each for each in beside if each.feature == 11)
    assert one[0].random != other[0].random
    assert one[0].effects == other[0].effects


def test_alpha_is_the_share_that_is_removed() -> None:
    none = swept(asked({"numbers": [11], "draws": 1}, alpha=0.0))
    for table in none.tables:
        assert set(table.values["logit_diff"]) == {none.corrupt["logit_diff"]}
    half, all_of_it = rows_of(asked(alpha=0.5), mirror(0))[1], rows_of(asked(), mirror(0))[1]
    assert half[0][0].writes[0].alpha == pytest.approx(all_of_it[0][0].writes[0].alpha / 2)


def test_controls_write_back_what_was_read_at_every_position_that_is() -> None:
    found = swept(asked())
    assert [(c.kind, c.difference, c.passed) for c in found.controls] == [
        ("alpha_zero", 0.0, True),
        ("self_patch", 0.0, True),
    ]
    assert found.noise_floor == {"logit_diff": 0.0}


def test_the_foil_is_the_strongest_rival_unless_one_is_named() -> None:
    found = swept(asked({"numbers": [11], "draws": 0}, metrics=["logprob"]))
    assert found.notes["foil"] == BACKEND.detokenize([319])
    [[answer, foil]] = BACKEND.baselines([(TOKENS, logprobs_of([ANSWER, 319]))], [])
    assert found.corrupt["logprob"] == pytest.approx(answer, abs=1e-6)
    assert found.corrupt["logit_diff"] == pytest.approx(answer - foil, abs=1e-6)

    named = swept(asked({"numbers": [11], "draws": 0}, foil=50))
    assert "foil" not in named.notes
    plain = swept(asked({"numbers": [11], "draws": 0}, metric="logprob"))
    assert plain.metric == "logprob"
    assert "foil" not in plain.notes


def test_the_notes_name_the_dictionary_and_the_features_that_are_silent() -> None:
    x = activations()[1:]
    silent = int(np.flatnonzero((np.concatenate([x, -x], axis=1) <= 0).all(0))[0])
    found = swept(asked({"numbers": [silent, 11], "draws": 0}))
    assert found.notes["silent"] == str(silent)
    assert found.tables[0].axes[0].values == [11]
    assert found.notes["dictionary"] == "memory"
    assert found.warnings == []

    with pytest.raises(BadRequest, match=rf"features \[{silent}\] .* strongest at its end are \["):
        swept(asked({"numbers": [silent]}))
    of_another_layer = swept(asked({"numbers": [11], "draws": 0}), mirror(1))
    assert "says that it reads layer 1" in of_another_layer.warnings[0]


def test_positions_choose_the_columns_and_everywhere_stays_everywhere() -> None:
    whole = removed({"numbers": [11]})[0]
    some = removed({"numbers": [11]}, positions=[3, 0, 1])[0]
    assert list(some.effects) == [3, 1]
    assert some.effects == {at: whole.effects[at] for at in (3, 1)}
    assert some.everywhere == whole.everywhere
    together = removed({"numbers": [11]}, positions="together")[0]
    assert together.effects == {}
    assert together.everywhere == whole.everywhere


def test_the_strongest_at_the_end_are_taken_where_none_is_named() -> None:
    x = activations()[-1]
    order = np.argsort(-np.concatenate([x, -x]))[:3]
    found = swept(asked({"top": 3, "draws": 0}))
    assert found.tables[0].axes[0].values == order.tolist()


@pytest.mark.parametrize(
    ("axis", "fields", "says"),
    [
        ({}, {"corrupt": [3]}, "attention sink"),
        ({"numbers": [99]}, {}, r"feature 99 is out of range \[0, 32\)"),
        ({}, {"hooks": ["mlp_out"]}, "leave 'hooks' out"),
        ({}, {"layers": [0]}, "leave 'layers' out"),
        ({}, {"source": "zero"}, "leave 'source' out"),
        ({}, {"corrupt": [5, 9999]}, "prompt token 9999 is outside the vocabulary"),
        ({}, {"positions": [{"span": "Paris"}]}, "is words, and the prompt is tokens"),
        ({}, {"metric": "recovered"}, "name one"),
    ],
)
def test_what_cannot_be_asked_is_said_before_anything_starts(
    axis: dict[str, Any], fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadRequest, match=says):
        swept(asked(axis, **fields))
    assert BACKEND.manifests() == {}


def test_layers_and_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(LayerOutOfRange):
        swept(asked({"layer": 7}))
    with pytest.raises(BadRequest, match="fewer features or draws"):
        swept(asked(), limits=Limits(cells=20))
    with pytest.raises(BadRequest, match="none are asked for"):
        swept(asked(features=None))
    with pytest.raises(BadRequest, match="need a dictionary"):
        list(sweep_table(BACKEND, asked()))
    assert BACKEND.manifests() == {}


def test_a_sweep_that_is_left_drops_what_it_captured() -> None:
    running = sweep_table(BACKEND, asked(), cells_of=feature_cells(mirror(0)))
    next(running)
    next(running)
    assert [run.split(".")[-1] for run in BACKEND.manifests()] == ["seen"]
    running.close()  # type: ignore[attr-defined]

    assert BACKEND.manifests() == {}


def test_an_estimate_counts_the_cells_that_will_be_run() -> None:
    found = swept(asked())
    assert estimate_table(BACKEND, asked(), cells_of=feature_cells(mirror(0))).cells == (
        found.timing.cells
    )
    assert BACKEND.manifests() == {}


def test_further_features_and_the_brightest_stand_below_those_that_come_first() -> None:
    first = [each.feature for each in removed({"by": "attribution", "top": 2})]
    bright = [each.feature for each in removed({"top": 3})]
    table = swept(asked({"by": "attribution", "top": 2, "also": [13], "bright": 3}))
    [features, _] = table.tables[0].axes
    assert set(features.values[:2]) == set(first)
    below = dict.fromkeys((13, *bright_first(table)))
    assert features.values[2:] == [feature for feature in below if feature not in first]
    assert set(bright_first(table)) == set(bright)
    alone = {each.feature: each for each in removed({"numbers": features.values})}
    for each in feature_effects(table):
        assert each == alone[each.feature], "who stands beside it moves no number"


def bright_first(table: TableSummary) -> list[int]:
    return [int(number) for number in table.notes["brightest"].split(", ")]


def test_what_stands_beside_others_does_not_go_with_all_of_them_named() -> None:
    for beside in ({"also": [5]}, {"bright": 1}):
        with pytest.raises(BadRequest, match="add those to it"):
            swept(asked({"numbers": [5]} | beside))
