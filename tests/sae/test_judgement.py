"""What is asked of a dictionary, all together, and in plain values."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sonde.sae.autoencoder import Origin
from sonde.sae.judgement import Alike, Labelled, judge
from sonde.sae.label_file import write_labels
from sonde.schema.feature import Label
from tests.sae.reading import mirror, random_contexts, tiny_reader


def test_neighbours_are_near_by_their_cosine() -> None:
    rows = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    found = Alike.of(rows)
    assert found is not None
    assert found.twins == 1.0
    assert Alike.of(torch.eye(4)) == Alike(0.0, 0.0)
    assert Alike.of(rows[:1]) is None


def test_labels_are_worth_their_detection_scores(tmp_path: Path) -> None:
    assert Labelled.beside(None) is None
    assert Labelled.beside(str(tmp_path)) is None
    labels = {
        n: Label(text="towers", source="me", score=score, measure="detection")
        for n, score in enumerate((0.5, 0.7, 0.9))
    }
    labels[7] = Label(text="rivers", source="an export", score=0.99, measure="recall_alt")
    write_labels(tmp_path, labels, None)
    found = Labelled.beside(str(tmp_path))
    assert found is not None
    assert (found.labels, found.scored, found.median) == (4, 3, 0.7)
    assert found.good == pytest.approx(2 / 3)


def test_everything_that_was_found_is_plain_json(tmp_path: Path) -> None:
    held = replace(mirror(1), origin=Origin(folder=str(tmp_path)))
    text = {"one": random_contexts(12), "other": random_contexts(12, seed=2)}
    (found,) = judge(tiny_reader(), [(1, held)], text, concepts=True)
    plain = json.loads(json.dumps(found.plain(), allow_nan=False))
    assert plain["neighbours"]["twins"] == 0
    assert (plain["features"], plain["labels"]) == (32, None)
    assert sum(plain["density"]["features"]) + plain["density"]["never"] == 32
    assert set(plain["concepts"]["plural"]) == {"one", "few", "all"}
    assert "absorbed" in plain["first_letters"]
    (quick,) = judge(tiny_reader(), [(1, held)], text, concepts=False)
    assert (quick.letters, quick.concepts) == (None, None)
    assert quick.whole == found.whole
