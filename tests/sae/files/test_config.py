"""Configurations: strict JSON, typed reads, errors that name file, key and value."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import DamagedFile
from sonde.sae.files.config import MAX_BYTES, flag, read_config, real, section, whole, word

HERE = Path("cfg.json")


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "cfg.json"
    path.write_text(text)
    return path


def test_an_object_is_read(tmp_path: Path) -> None:
    assert read_config(written(tmp_path, '{"k": 5}')) == {"k": 5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"k": NaN}', "NaN is no number"),
        ('{"k": 1, "k": 2}', "repeated key 'k'"),
        ('{"k": 1', "not a JSON object"),
        ("[1, 2]", "holds a list"),
        ("[" * 100_000, "not a JSON object"),
        ("\x00\x01", "not a JSON object"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DamagedFile, match=message):
        read_config(written(tmp_path, text))


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)

    with pytest.raises(DamagedFile, match="a configuration is small"):
        read_config(path)


def test_what_is_absent_or_null_is_none() -> None:
    for read in (whole, real, word):
        assert read({}, "k", HERE) is None
        assert read({"k": None}, "k", HERE) is None
    assert section({}, "k", HERE) == section({"k": None}, "k", HERE) == {}
    assert flag({}, "k", HERE, default=True) is True


def test_what_is_there_is_given() -> None:
    assert whole({"k": 3}, "k", HERE) == 3
    assert real({"k": 3}, "k", HERE) == 3.0
    assert word({"k": "x"}, "k", HERE) == "x"
    assert section({"k": {"a": 1}}, "k", HERE) == {"a": 1}
    assert flag({"k": False}, "k", HERE, default=True) is False


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (whole, True),
        (whole, 2.5),
        (whole, "3"),
        (real, "3"),
        (real, False),
        (word, 3),
        (section, []),
    ],
)
def test_another_type_is_refused(read: Callable[[Any, str, Path], object], value: object) -> None:
    with pytest.raises(DamagedFile, match="cfg.json: k is .*, expected"):
        read({"k": value}, "k", HERE)


def test_a_number_is_no_flag() -> None:
    with pytest.raises(DamagedFile, match="k is 1, expected true or false"):
        flag({"k": 1}, "k", HERE, default=True)
