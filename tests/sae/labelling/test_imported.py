"""Labels of others: with the scores somebody measured, and without those nobody did."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import BadRequest
from sonde.sae.labelling.imported import balanced, import_labels


def explained(index: int, text: str, *scores: tuple[str, float]) -> dict[str, Any]:
    return {
        "modelId": "smollm2", "layer": "15-res", "index": str(index),
        "explanations": [{
            "description": text, "typeName": "oai_token-act-pair",
            "explanationModelName": "gpt-4o-mini",
            "scores": [
                {"value": value, "explanationScoreTypeName": name,
                 "explanationScoreModelName": "claude"}
                for name, value in scores
            ],
        }],
    }  # fmt: skip


def test_scored_explanations_of_neuronpedia_are_labels(tmp_path: Path) -> None:
    lines = [
        explained(4, " towers", ("recall_alt", 0.95), ("eleuther_recall", 0.8)),
        explained(4, "tall things", ("eleuther_recall", 0.9)),
        explained(7, "rivers"),
        explained(9, "roads", ("eleuther_fuzz", 0.6)),
        explained(11, "wrong", ("eleuther_recall", 1.5)),
    ]
    file = tmp_path / "batch-0.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    found = import_labels(tmp_path)
    assert found == import_labels(file)
    assert (sorted(found.labels), found.unscored) == ([4, 9], 2)
    label = found.labels[4]
    assert (label.text, label.score, label.measure) == ("tall things", 0.9, "detection")
    assert label.source == "Neuronpedia: gpt-4o-mini oai_token-act-pair"
    assert label.scorer == "claude"
    assert (found.labels[9].measure, found.labels[9].score) == ("eleuther_fuzz", 0.6)


def test_an_export_without_scores_has_no_labels(tmp_path: Path) -> None:
    file = tmp_path / "batch-0.jsonl"
    file.write_text('{"index": "204", "description": "time", "typeName": "x"}\n')
    found = import_labels(file)
    assert (found.labels, found.unscored) == ({}, 1)


def test_one_features_page_is_read_too(tmp_path: Path) -> None:
    file = tmp_path / "feature.json"
    file.write_text(json.dumps(explained(4, "towers", ("eleuther_recall", 0.8)), indent=1))
    assert import_labels(file).labels[4].text == "towers"


def test_delphis_score_is_counted_from_its_judged_snippets(tmp_path: Path) -> None:
    explanations, scores = tmp_path / "explanations", tmp_path / "scores" / "detection"
    explanations.mkdir()
    scores.mkdir(parents=True)
    for n, text in ((3, "towers"), (5, "rivers")):
        (explanations / f"layers.15_latent{n}.txt").write_text(json.dumps(text))
    judged = [
        {"activating": so, "prediction": said, "str_tokens": ["a"]}
        for so, said in [(True, True)] * 3 + [(True, False)] + [(False, False)] * 2
    ]
    judged.append({"activating": False, "prediction": None})
    (scores / "layers.15_latent3.txt").write_text(json.dumps(judged))
    found = import_labels(tmp_path)
    assert (list(found.labels), found.unscored) == ([3], 1)
    label = found.labels[3]
    assert (label.text, label.source, label.score, label.examples) == (
        "towers", "Delphi", (3 / 4 + 1) / 2, 6,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"index": "x", "description": "a"}', "index 'x'"),
        ("no JSON", "is not JSON"),
        ("[1, 2]", "expected objects"),
        ('{"other": 1}', "holds no explanations"),
    ],
)
def test_what_holds_no_labels_is_refused_by_name(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "export.json"
    file.write_text(content)
    with pytest.raises(BadRequest, match=said):
        import_labels(file)
    with pytest.raises(BadRequest, match="there is no"):
        import_labels(tmp_path / "absent")


def test_balanced_accuracy_needs_both_sides() -> None:
    assert balanced([(True, True)]) is None
    assert balanced([(True, True), (False, True)]) == 0.5
