"""The notebooks among the examples: what they print is what is kept with them."""

from pathlib import Path

import nbformat
import pytest

from tests import notebooks
from tests.notebooks import NOTEBOOKS, differences, prints, read

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)


@pytest.mark.slow
@each_notebook
@pytest.mark.filterwarnings("ignore")  # those of Jupyter, about itself
def test_a_notebook_prints_what_is_kept(path: Path, tmp_path: Path) -> None:
    kept, now = prints(read(path)), prints(notebooks.run(path, tmp_path))
    assert list(differences(kept, now)) == [], "`make notebooks` keeps what they print now"


def test_there_is_one_for_each_thing_that_is_told() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "find_a_fact",
        "training_story",
        "tutorial",
        "watch_training",
    ]


@each_notebook
def test_a_notebook_is_kept_as_it_was_run_from_top_to_bottom(path: Path) -> None:
    cells = read(path).cells
    assert cells[0].source.startswith("# ")
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert sum(bool(cell.outputs) for cell in code) >= len(code) // 2
    assert path.stat().st_size < 600_000
    for cell in code:
        for output in cell.outputs:
            assert output.output_type != "error"


def test_the_tutorial_among_the_documents_is_the_notebook() -> None:
    kept = read(notebooks.TUTORIAL)
    assert notebooks.PAGE.read_text(encoding="utf-8") == notebooks.page(kept)
    for name, png in notebooks.images(kept):
        assert (notebooks.IMAGES / name).read_bytes() == png


def notebook(*texts: str) -> nbformat.NotebookNode:
    made = nbformat.v4.new_notebook()
    outputs = [nbformat.v4.new_output("stream", text=text) for text in texts]
    made.cells = [nbformat.v4.new_code_cell("print()", outputs=outputs)]
    return made


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("share 0.601, 12 cells", "share 0.602, 12 cells", True),
        ("15:3425 of 4,096", "15:3426 of 4,096", False),
        ("took 12 s, done", "took 1.5 min, done", True),
        ("share 0.601", "share 0.701", False),
        ("head 26.0", "head 23.4", False),
        ("it rose", "it fell", False),
        ("a −0.50", "a 0.50", False),
        ("one\n", "one\ntwo\n", False),
    ],
)
def test_words_count_to_the_letter_numbers_nearly_and_times_not(
    before: str, after: str, same: bool
) -> None:
    found = list(differences(prints(notebook(before)), prints(notebook(after))))
    assert (found == []) == same


def test_of_what_was_sampled_it_counts_that_there_is_something() -> None:
    made, other, silent = notebook("R 0.45, ( a )"), notebook("R 0.61, b"), notebook()
    for each in (made, other, silent):
        each.cells[0].metadata["tags"] = [notebooks.VARIES]
    assert list(differences(prints(made), prints(other))) == []
    assert list(differences(prints(made), prints(silent))) != []


def test_of_a_picture_it_counts_that_there_is_one() -> None:
    def drawn(png: str) -> nbformat.NotebookNode:
        made = notebook()
        data = {"image/png": png, "text/plain": "<Figure>"}
        made.cells[0].outputs = [nbformat.v4.new_output("display_data", data=data)]
        return made

    assert list(differences(prints(drawn("one")), prints(drawn("other")))) == []
    assert list(differences(prints(drawn("one")), prints(notebook("text")))) != []
    [(name, _)] = notebooks.images(drawn("b25l"))
    assert f"images/{name}" in notebooks.page(drawn("b25l"))
