"""Notes on features stay with their run, one small file that is replaced whole."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.runs.layout import RunLayout
from sonde.runs.notes import NAME, keep_note, notes_of
from sonde.schema.feature_in_run import NoteToKeep


def test_a_note_is_kept_changed_and_taken_away(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    assert notes_of(layout).notes == {}
    keep_note(layout, 15, 2801, "opens brackets")
    keep_note(layout, 0, 3, "")
    assert {key: note.text for key, note in notes_of(layout).notes.items()} == {
        "15.2801": "opens brackets"
    }
    keep_note(layout, 15, 2801, "closes them")
    assert notes_of(layout).notes["15.2801"].text == "closes them"
    assert keep_note(layout, 15, 2801, "  ").notes == {}
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


@pytest.mark.parametrize("content", ["[]", "not json", '{"notes": {"../x": {"text": "a"}}}'])
def test_a_file_that_is_not_ours_is_neither_read_nor_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content)
    layout = RunLayout(tmp_path)
    assert notes_of(layout).notes == {}
    with pytest.raises(BadRequest, match="not one that Sonde wrote"):
        keep_note(layout, 15, 1, "mine")
    assert (tmp_path / NAME).read_text() == content


def test_a_note_is_not_longer_than_a_page() -> None:
    with pytest.raises(ValidationError):
        NoteToKeep(text="x" * 4001)
