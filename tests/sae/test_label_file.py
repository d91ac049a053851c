"""Labels beside a dictionary: of its weights, or refused."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.runs.atomic import write_json
from sonde.sae.feature_file import FEATURES, read_some, write_features
from sonde.sae.label_file import LABELS, read_labels, write_labels
from sonde.schema.feature import Label
from tests.sae.test_feature_file import made

SCORED = Label(text="towers", source="by hand", score=0.75, measure="detection", examples=20)
UNSCORED = Label(text="rivers", source="an export", score=None, reason="the export has none")


def test_labels_come_back_and_are_put_to_the_features_that_have_them(tmp_path: Path) -> None:
    assert read_labels(tmp_path) == {}
    write_labels(tmp_path, {3: SCORED, 1: UNSCORED}, None)
    assert read_labels(tmp_path) == {1: UNSCORED, 3: SCORED}
    write_features(tmp_path / FEATURES, map(made, range(5)))
    found = read_some(tmp_path / FEATURES, [3, 2])
    assert [each.label for each in found] == [SCORED, None]


def test_a_feature_file_never_keeps_a_label(tmp_path: Path) -> None:
    labelled = made(0).model_copy(update={"label": SCORED})
    write_features(tmp_path / FEATURES, [labelled])
    assert read_some(tmp_path / FEATURES, [0])[0].label is None


def test_labels_of_other_weights_are_refused(tmp_path: Path) -> None:
    write_labels(tmp_path, {3: SCORED}, "a" * 64)
    assert read_labels(tmp_path) == {3: SCORED}, "nothing says which weights lie there"
    write_json(tmp_path / "autoencoder.json", {"sha256": "b" * 64})
    with pytest.raises(BadRequest, match="is of weights aaaaaaaaaaaa…, and bbbbbbbbbbbb… lie"):
        read_labels(tmp_path)
    with pytest.raises(BadRequest, match="and cccccccccccc… lie"):
        read_labels(tmp_path, "c" * 64)
    assert read_labels(tmp_path, "a" * 64) == {3: SCORED}


@pytest.mark.parametrize("content", ["no JSON", "[]", '{"labels": {"x": {}}}'])
def test_what_holds_no_labels_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / LABELS).write_text(content)
    with pytest.raises(BadRequest, match="holds no labels"):
        read_labels(tmp_path)


@pytest.mark.parametrize(
    "fields",
    [
        {"score": None},
        {"score": 0.5},
        {"score": 0.5, "measure": "detection", "reason": "none"},
        {"score": 1.5, "measure": "detection"},
        {"score": None, "reason": "none", "measure": "detection"},
    ],
)
def test_a_label_has_a_score_or_the_reason_why_not(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Label.model_validate({"text": "towers", "source": "me", **fields})
