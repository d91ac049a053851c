"""Which dictionary a feature axis means, and how many are held."""

from pathlib import Path

import pytest

from sonde.errors import BadRequest
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.sae import shipped
from sonde.sae.formats.sonde import save_autoencoder
from sonde.schema.table import FeatureAxis
from sonde.server.dictionaries import HELD, Dictionaries
from tests.sae.reading import mirror
from tests.scripted import Scripted

MODEL = Scripted().describe()


def axis(name: str | None = None, layer: int = 15) -> FeatureAxis:
    return FeatureAxis(layer=layer, dictionary=name)


def test_one_that_is_named_comes_before_all_others(tmp_path: Path) -> None:
    known = Dictionaries({"mine": tmp_path})
    assert known.find(axis("mine"), MODEL) == tmp_path


def test_without_a_name_it_is_the_shipped_one_of_that_layer_for_its_own_model_alone() -> None:
    own = MODEL.model_copy(update={"name": shipped.MODEL})
    assert Dictionaries().find(axis(), own) == shipped.layers()[15]
    with pytest.raises(BadRequest, match="there are layers"):
        Dictionaries().find(axis(layer=1), own)
    with pytest.raises(BadRequest, match="no dictionary comes with Sonde for 'scripted'"):
        Dictionaries({"mine": Path()}).find(axis(), MODEL)


@pytest.mark.parametrize("name", ["nobody", "../up", "/etc", "a/b", ""])
def test_a_name_is_never_a_path(tmp_path: Path, name: str) -> None:
    known = Dictionaries({"mine": tmp_path}, runs=Hub(RunLayout(tmp_path)))
    with pytest.raises(BadRequest, match="there are mine"):
        known.find(axis(name), MODEL)


def test_a_run_without_a_dictionary_says_why(tmp_path: Path) -> None:
    run = tmp_path / "one"
    run.mkdir()
    (run / "checkpoint-1").mkdir()
    known = Dictionaries(runs=Hub(RunLayout(tmp_path)))
    with pytest.raises(BadRequest, match="run.json"):
        known.find(axis("one"), MODEL)


def test_a_few_are_held_and_the_one_unused_for_longest_goes(tmp_path: Path) -> None:
    names = [f"d{n}" for n in range(HELD + 1)]
    known = Dictionaries({name: save_autoencoder(mirror(1), tmp_path / name) for name in names})
    for name in names:
        known.cells(axis(name, 1), MODEL)
    assert list(known._held) == [tmp_path / name for name in names[1:]]
