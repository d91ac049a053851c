from pathlib import Path

import pytest

from sonde.cli.finding import analysed, find, hub_of, read_all
from sonde.cli.progress import Lines
from sonde.errors import BadRequest, UnknownRun
from tests.runs.analytics.made import made_run, reference_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    reference_run(tmp_path / "runs" / "reference", records=5)
    made_run(tmp_path / "runs" / "own", steps=2)
    return tmp_path / "runs"


def test_a_run_is_found_by_name_by_path_and_by_being_the_newest(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = hub_of(root, None)
    assert find(hub, "reference").directory == root / "reference"
    assert find(hub, str(root / "own")).directory == root / "own"
    assert find(hub, None).directory.parent == root
    monkeypatch.chdir(root / "own")
    assert find(hub, ".").directory == root / "own"


def test_what_is_no_run_is_an_error_that_says_how_to_find_one(root: Path) -> None:
    hub = hub_of(root, None)
    for name in ("nobody", "../own", "/", str(root / "own" / "segments")):
        with pytest.raises(UnknownRun, match="sonde runs list"):
            find(hub, name)
    with pytest.raises(BadRequest, match="--output-dir"):
        find(hub_of(root / "empty", None), None)


def test_the_directory_comes_from_the_environment_where_no_option_says(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AEGIR_P5_OUTPUT_DIR", str(root))
    assert hub_of(None, None).root == root


def test_a_run_is_read_to_its_end(root: Path) -> None:
    layout = find(hub_of(root, None), "own")
    with analysed(layout) as (analysis, connection):
        known = read_all(analysis, Lines())
        assert known.coverage.complete
        assert len(known.losses(connection))
