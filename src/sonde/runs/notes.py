"""Notes on features, kept with the run they were made on: one small file, replaced whole."""

import time
from threading import Lock
from typing import Final

from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.runs.atomic import replace
from sonde.runs.layout import RunLayout
from sonde.runs.reader import SMALL, read_object
from sonde.schema.feature_in_run import Note, NoteList

NAME: Final = "notes.json"
_writing = Lock()


def notes_of(layout: RunLayout) -> NoteList:
    """What was noted; nothing where the file is not ours to understand."""
    found = read_object(layout.directory / NAME)
    try:
        return NoteList() if found is None else NoteList.model_validate(found)
    except ValidationError:
        return NoteList()


def keep_note(layout: RunLayout, layer: int, feature: int, text: str) -> NoteList:
    """Keep a note, or take one away where the text is empty. -> all there are"""
    path = layout.directory / NAME
    with _writing:
        before = notes_of(layout)
        if path.exists() and not before.notes and read_object(path) not in ({}, {"notes": {}}):
            raise BadRequest(f"{NAME} of this run is not one that Sonde wrote; move it away first")
        notes = {key: note for key, note in before.notes.items() if key != f"{layer}.{feature}"}
        if text.strip():
            notes[f"{layer}.{feature}"] = Note(text=text, written=time.time())
        after = NoteList(notes=notes)
        content = after.model_dump_json(indent=1).encode()
        if len(content) > SMALL:
            raise BadRequest(f"{NAME} would be larger than {SMALL:,} bytes; shorten some notes")
        replace(path, content + b"\n")
    return after
