"""`sonde.study.file`: what a study's file may say, and where it is wrong."""

import json
from pathlib import Path

import pytest

from sonde.errors import BadRequest
from sonde.schema.study import StudyModel
from sonde.study.file import read_study
from tests.study.tiny_study import TOML, tiny_study


def refused(folder: Path, text: str, name: str = "study.toml") -> str:
    path = folder / name
    path.write_text(text)
    with pytest.raises(BadRequest) as error:
        read_study(path)
    return str(error.value).removeprefix(str(path)).removeprefix(", ")


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    toml = tiny_study(tmp_path)
    path = tmp_path / "same.json"
    path.write_text(toml.study.model_dump_json(exclude_defaults=True))
    assert read_study(path).study == toml.study
    assert toml.directory == tmp_path / "small"


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    study = tiny_study(tmp_path, n=3)
    assert study.model == StudyModel(name=str(tmp_path / "model"))
    assert len(study.pairs()) == 3
    assert len(study.request(study.pairs()).pairs or []) == 3


def test_pairs_of_a_task_follow_from_its_name_number_and_seed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"model": "smollm2", "task": {"name": "ioi", "n": 4, "seed": 3}}))
    study = read_study(path)
    assert study.pairs().digest == read_study(path).pairs().digest
    assert (len(study.pairs()), study.model.name) == (4, "smollm2")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("hooks =", "hokks =", "line 5: sweep has no field 'hokks'; did you mean 'hooks'?"),
        ("resamples", "resample", "line 11: statistics has no field 'resample'; did you mean 'res"),
        ("pairs =", "pears =", "line 2: there is no field 'pears'; did you mean 'pairs'?"),
        ('"together"', "3.5", "line 6: sweep.positions: "),
        ("drop_wrong = false", 'method = "attribution"', "sweep has no field 'method' here: a stu"),
        ("drop_wrong = false", 'foil = "x"', "line 8: sweep has no field 'foil' here: the foils"),
        ("flips = 200", "flips = true", "line 12: statistics.flips: "),
        ('pairs = "pairs.jsonl"', "", " has neither a task nor pairs"),
        ('["z"]', "[z]", " is no TOML: Invalid value (at line 5"),
        ('model = "model"', "", "field 'model' is missing"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    assert before in TOML
    assert said in refused(tmp_path, TOML.replace(before, after))


def test_json_is_as_strict(tmp_path: Path) -> None:
    text = '{"model": "m",\n "pairs": "p",\n "sweep": {\n  "hooks": ["z"],\n  "sauce": "zero"}}'
    assert "line 5: sweep has no field 'sauce'; did you mean 'source'?" in refused(
        tmp_path, text, "a.json"
    )
    assert "field 'model' is there twice" in refused(tmp_path, '{"model":1,"model":2}', "a.json")
    assert "not an object" in refused(tmp_path, "[]", "a.json")
    assert "ends with .toml or .json" in refused(tmp_path, "", "a.txt")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="there is no file"):
        read_study(tmp_path / "none.toml")
