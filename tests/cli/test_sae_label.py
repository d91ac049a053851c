"""`sonde sae label`: from an address to labels beside the weights, or to reasons."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from sonde.sae.feature_file import FEATURES, write_features
from sonde.sae.formats.sonde import save_autoencoder
from sonde.sae.label_file import LABELS, read_labels
from sonde.schema.feature import Feature, Snippet
from tests.cli.shell import refusal, sonde
from tests.sae.labelling.oracle import serving
from tests.sae.reading import mirror
from tests.server.tiny_server import chatting_backend, served

TEXT = "\f".join(
    ("The Eiffel Tower is in the city of Paris. " if n % 3 else "Mary gave a drink to John. ") * 2
    for n in range(60)
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dictionary whose features are described, the last of them dead."""
    held = mirror(1)
    rare = held.with_tensors({**held.tensors(), "b_enc": torch.full((held.d_sae,), -2.0)})
    path = save_autoencoder(rare, tmp_path / "layer_1")
    snippet = Snippet(tokens=["in", " Paris"], heat="09", value=2.0)
    write_features(
        path / FEATURES,
        [
            Feature(
                feature=n, rate=0.1, promoted=[], suppressed=[],
                snippets=[snippet] if n < 31 else [],
            )
            for n in range(32)
        ],
    )  # fmt: skip
    return path


@pytest.fixture
def ask(folder: Path, tiny: Path, tmp_path: Path) -> tuple[object, ...]:
    (tmp_path / "text.txt").write_text(TEXT)
    return (
        "sae", "label", folder, "--model", tiny, "--text", tmp_path / "text.txt",
        "--context", 24, "--device", "cpu",
    )  # fmt: skip


@pytest.fixture
def truth() -> Iterator[str]:
    """Says what the snippets share, and then tells every text apart by chance."""

    def answer(system: str, user: str) -> str:
        return "Paris" if system.startswith("You study") else str(len(user) % 2)

    with serving(answer) as url:
        yield url


def test_labels_are_kept_with_their_scores_and_shown_with_the_feature(
    folder: Path, ask: tuple[object, ...], truth: str
) -> None:
    result = sonde(*ask, "--explainer", truth, "--features", "3,5,31", "--least", 0)
    assert result.exit_code == 0, result.output
    assert "no label: it has no snippets: it is dead" in result.stdout
    labels = read_labels(folder)
    assert set(labels) == {3, 5}, result.stdout
    for feature, label in labels.items():
        assert (label.text, label.measure) == ("Paris", "detection")
        assert label.scorer is not None
        assert label.scorer.startswith("oracle at 127.0.0.1:")
        shown = sonde("sae", "feature", folder, feature).stdout
        assert "Paris" in shown
        assert "detection" in shown


def test_a_label_that_scores_too_little_is_told_and_not_kept(
    folder: Path, ask: tuple[object, ...], truth: str
) -> None:
    result = sonde(*ask, "--explainer", truth, "--most", 4, "--least", 1, "--json")
    told = json.loads(result.stdout)
    assert len(told) == 4
    assert not any(each["kept"] for each in told)
    assert any("below 1" in each["reason"] for each in told)
    assert not (folder / LABELS).exists()


def test_our_own_server_can_be_asked(folder: Path, ask: tuple[object, ...], tmp_path: Path) -> None:
    with served(chatting_backend(longest=2048), tmp_path / "server") as here:
        result = sonde(*ask, "--explainer", here.url, "--features", "3", "--json")
    assert result.exit_code == 0, result.output
    (told,) = json.loads(result.stdout)
    assert told["reason"], "a model of random weights explains nothing"
    assert not told["kept"]


def test_labels_of_others_are_imported_with_their_scores(folder: Path, tmp_path: Path) -> None:
    export = tmp_path / "export.jsonl"
    lines = [
        {"index": n, "description": f"thing {n}", "scores": [
            {"value": 0.6 + n / 10, "explanationScoreTypeName": "eleuther_recall"}]}
        for n in range(4)
    ]  # fmt: skip
    lines.append({"index": 9, "description": "nobody scored it"})
    export.write_text("\n".join(map(json.dumps, lines)))
    result = sonde("sae", "label", folder, "--import", export)
    assert "3 labels imported; left out: 1 scored below 0.7, 1 without a score" in result.stdout
    assert sorted(read_labels(folder)) == [1, 2, 3]
    export.write_text(json.dumps({**lines[3], "index": 32}))
    said = refusal(sonde("sae", "label", folder, "--import", export))
    assert "labels feature 32, and" in said
    assert "it speaks of another dictionary" in said


def test_what_is_missing_is_asked_for(folder: Path) -> None:
    assert "--explainer URL, or --import PATH" in refusal(sonde("sae", "label", folder))
    base = ("sae", "label", folder, "--explainer", "http://127.0.0.1:9")
    assert "--features 12,4071, or --most 20" in refusal(sonde(*base))
    assert "nobody answers at" in refusal(sonde(*base, "--most", 3))
