import json
from pathlib import Path

import pytest

from sonde.runs.atomic import replace, write_json
from tests.runs.full_disk import files_no_larger_than


def test_a_value_is_read_back(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"a": [1, None], "b": "ü"})
    assert json.loads((tmp_path / "run.json").read_text()) == {"a": [1, None], "b": "ü"}


def test_nan_is_refused_and_the_old_file_stays(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"a": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "run.json", {"a": float("nan")})
    assert json.loads((tmp_path / "run.json").read_text()) == {"a": 1}


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    replace(tmp_path / "f", b"old")
    with files_no_larger_than(10), pytest.raises(OSError, match="too large"):
        replace(tmp_path / "f", b"longer than ten bytes")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_bytes() == b"old"
