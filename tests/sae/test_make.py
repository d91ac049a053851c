"""From text to a folder that anyone can load, judge and read."""

from pathlib import Path

import pytest
import torch

from sonde.errors import BadRequest
from sonde.sae.cards import CARD
from sonde.sae.corpus import from_text
from sonde.sae.evaluate import evaluate
from sonde.sae.feature_file import FEATURES, read_some
from sonde.sae.formats.sonde import Bits
from sonde.sae.load import load_autoencoder
from sonde.sae.make import KEPT, OWN, STATE, Material, Text, make, never_active, prepare
from sonde.sae.train import Recipe, Sites
from sonde.schema.feature import Feature
from tests.sae.reading import tiny_reader

DOCUMENTS = [
    f"When Mary and John went to the store {n}, John gave a drink to Mary. " * 12 for n in range(60)
]
SOURCE = {"what": "a story", "licence": "public domain", "package": "a-package"}
RECIPE = Recipe(d_sae=48, k=4, tokens=3000, batch=128, learning_rate=5e-3, buffer=2000)


@pytest.fixture(scope="module")
def material() -> Material:
    said: list[str] = []
    text = Text(DOCUMENTS, generate=300, context=24, sources=[SOURCE])
    made = prepare(tiny_reader(), text, said.append)
    assert said == ["cutting 60 documents into contexts", "writing 300 tokens"]
    return made


@pytest.fixture(scope="module")
def folder(material: Material, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("saes")
    folders = make(
        tiny_reader(), "tiny", material, Sites("post_block", (1,)), RECIPE, out,
        notes={"command": "this one"}, say=lambda _line: None, report=lambda _now: None,
    )  # fmt: skip
    assert folders == {1: out / "layer_1"}
    assert not (out / STATE).exists()
    return folders[1]


def test_held_out_text_is_in_no_context_that_is_trained_on(material: Material) -> None:
    assert material.notes["generated"] == 300
    assert material.notes["held_out"] == "documents"
    reader = tiny_reader()
    whole = from_text(reader, DOCUMENTS[49:50], 24).ids.tolist()
    assert material.held_out.ids[: len(whole)].tolist() == whole
    documents = from_text(reader, DOCUMENTS, 24)
    assert documents.documents is not None
    n_others = len(documents) - len(whole)
    assert torch.equal(material.train.ids[:n_others], documents.take(documents.documents != 49).ids)


def test_too_little_text_to_hold_some_out_is_refused_before_training() -> None:
    with pytest.raises(BadRequest, match="one in 50 is held out"):
        prepare(tiny_reader(), Text(DOCUMENTS[:1], context=24), lambda _line: None)


def test_a_folder_holds_weights_features_and_a_card(folder: Path) -> None:
    held = load_autoencoder(folder)
    assert (held.d_in, held.d_sae, held.layer, held.hook) == (16, 48, 1, "post_block")
    assert held.origin.model == "tiny"
    assert held.origin.notes["recipe"]["k"] == 4
    assert held.origin.notes["command"] == "this one"
    assert [each.feature for each in read_some(folder / FEATURES, range(48))] == list(range(48))
    assert "Sparse autoencoder of tiny, layer 1" in (folder / CARD).read_text()
    assert "a story (public domain), from the package a-package" in (folder / CARD).read_text()
    assert (folder.parent / KEPT).read_text().strip()


def test_what_is_said_is_said_about_the_weights_that_are_kept(
    folder: Path, material: Material
) -> None:
    held = load_autoencoder(folder)
    assert torch.equal(held.W_enc.half().float(), held.W_enc)
    (found,) = evaluate(tiny_reader(), {1: held}, material.held_out).values()
    assert held.origin.notes["evaluation"] == pytest.approx(found.plain())


def test_a_feature_that_no_token_makes_active_is_counted_as_such() -> None:
    rates = (0.0, 0.25, 0.0, 1e-6)
    features = [
        Feature(feature=n, rate=rate, promoted=[], suppressed=[], snippets=[])
        for n, rate in enumerate(rates)
    ]
    assert never_active(features) == 0.5


def test_kinds_are_told_apart_and_only_what_may_be_quoted_is(tmp_path: Path) -> None:
    reader = tiny_reader()
    secret = [f"The Colosseum {n} is in the city of Rome. " * 12 for n in range(60)]
    text = Text(
        [*DOCUMENTS, *secret], ["story"] * 60 + ["travel"] * 60, [True] * 60 + [False] * 60,
        generate=300, context=24,
    )  # fmt: skip
    material = prepare(reader, text, lambda _line: None)
    assert material.kinds == ("story", "travel", OWN)
    assert material.quoted is not None
    assert sorted(material.quoted.kinds_of(slice(None)).unique().tolist()) == [0, 2]
    folders = make(
        reader, "tiny", material, Sites("post_block", (1,)), RECIPE, tmp_path,
        notes={}, say=lambda _line: None, report=lambda _now: None, bits=Bits(8, 6),
    )  # fmt: skip
    features = read_some(folders[1] / FEATURES, range(48))
    shown = ["".join(snippet.tokens) for each in features for snippet in each.snippets]
    assert shown
    assert not [snippet for snippet in shown if "Colosseum" in snippet or "city of Rome" in snippet]
    assert {kind for each in features for kind in each.kinds} == {"story", "travel", OWN}
    assert any(each.kinds["travel"] > 0 for each in features), "counted, though not quoted"
    card = (folders[1] / CARD).read_text()
    assert "The encoder's weights have 8 bits, the decoder's 6, and each feature" in card
    assert "Before rounding: FVU" in card
    idle = sum(each.rate == 0 for each in features) / 48
    noted = load_autoencoder(folders[1]).origin.notes["described"]
    assert noted["never_active"] == idle
    assert f"{100 * idle:.2f} % of them are never active there" in card
    held = load_autoencoder(folders[1])
    (found,) = evaluate(reader, {1: held}, material.held_out).values()
    assert held.origin.notes["evaluation"] == pytest.approx(found.plain())
