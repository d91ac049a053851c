"""The notebooks among the examples run from top to bottom, and are kept without what they print."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples").glob("*.ipynb"))
CELL_SECONDS = 900

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


@pytest.mark.slow
@each_notebook
@pytest.mark.filterwarnings("ignore")  # those of Jupyter, about itself
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    here = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(read(path), timeout=CELL_SECONDS, resources=here).execute()


def test_there_is_one_on_sweeps_and_one_on_training() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["find_a_fact", "watch_training"]


@each_notebook
def test_a_notebook_is_kept_clean_and_begins_with_its_title(path: Path) -> None:
    cells = read(path).cells
    assert cells[0].source.startswith("# ")
    for cell in cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
