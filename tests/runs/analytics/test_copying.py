"""A copy of a run is what its page would have been told, and nothing it has not."""

import pytest

from sonde.runs.analytics import copying
from sonde.runs.analytics.copying import Describers, run_copy
from sonde.runs.analytics.curves import reward_curves
from sonde.runs.analytics.generation import generation_view
from sonde.runs.analytics.heatmap import feature_tile, layer_tile, time_axis
from sonde.runs.analytics.vocabulary import vocabulary
from sonde.runs.reader import run_row
from sonde.schema.feature import Feature, FeatureCards
from sonde.schema.run_copy import RunCopy
from tests.runs.analytics.conftest import Read


def cards(layer: int, features: list[int]) -> FeatureCards:
    found = [
        Feature(feature=each, rate=0.1, promoted=["a"], suppressed=[], snippets=[])
        for each in features
    ]
    return FeatureCards(layer=layer, dictionary="made", features=found, reason=None)


def copied(read: Read, **describers: object) -> RunCopy:
    row = run_row(read.made.layout, "mine").model_copy(update={"model": "/somewhere/policy"})
    described = Describers("1.2", cards, **describers)  # type: ignore[arg-type]
    return run_copy(read.known, read.cursor, row, described)


def test_it_has_the_answers_that_the_routes_give(run: Read) -> None:
    copy = copied(run)
    at = time_axis(run.known, None, None, None, columns=copying.COLUMNS)
    assert copy.layers["loss"] == layer_tile(run.known, run.cursor, at, "loss")
    assert sorted(copy.layers) == ["activation", "active", "loss"]
    assert copy.features[15][0] == feature_tile(run.known, run.cursor, at, 15, top=16)
    assert copy.rewards == reward_curves(run.known)
    assert copy.layer_vocabulary[15] == vocabulary(run.known, run.cursor, 15, limit=25)
    assert [each.generation_id for each in copy.generations.generations] == list(copy.views)
    newest = copy.generations.generations[0].generation_id
    assert copy.views[newest] == generation_view(run.known, run.cursor, newest)
    assert copy.overview.run == copy.run.run == "mine"
    assert RunCopy.model_validate_json(copy.model_dump_json()) == copy


def test_every_feature_that_can_be_opened_has_a_row_and_a_card(run: Read) -> None:
    copy = copied(run)
    words = [*copy.vocabulary.features, *copy.layer_vocabulary[0].features]
    assert words
    for word in words:
        assert any(word.feature in tile.rows for tile in copy.features[word.layer])
        assert word.feature in [card.feature for card in copy.cards[word.layer].features]


def test_it_does_not_say_where_it_was(run: Read) -> None:
    copy = copied(run)
    assert (copy.run.directory, copy.run.model) == (run.made.layout.directory.name, "policy")
    assert str(run.made.layout.directory.parent) not in copy.model_dump_json()


def test_long_generations_are_left_out_once_there_is_no_room(
    run: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = copied(run).views
    newest = next(iter(whole))
    room = len(whole[newest].model_dump_json())
    monkeypatch.setattr(copying, "VIEW_BYTES", room)
    assert list(copied(run).views) == [newest]


def test_a_model_says_what_the_tokens_are(run: Read) -> None:
    assert copied(run).pieces == {}
    copy = copied(run, pieces=lambda text: [text[:2], text[2:]])
    first = copy.generations.generations[0]
    assert first.completion is not None
    assert "".join(copy.pieces[first.generation_id]) == first.completion


def test_a_run_without_companions_is_copied_too(reference: Read) -> None:
    copy = copied(reference)
    assert copy.generations.generations == []
    assert copy.generations.reason
    assert copy.layers["activation"].rows == reference.known.layers
