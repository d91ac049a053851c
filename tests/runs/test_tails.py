"""Whether a resume has cut a file: its tail is aside, and put back it gives what was read."""

import os

import pytest

from sonde.runs.files import LineFile, open_lines
from sonde.runs.tails import was_cut
from tests.runs.trainer import Trainer


@pytest.mark.parametrize("kept", [1, 40, 99])
@pytest.mark.parametrize("of_its_own", [True, False])
def test_a_file_was_cut_if_its_tail_is_aside_and_not_another_files(
    trainer: Trainer, kept: int, of_its_own: bool
) -> None:
    layout = trainer.layout
    trainer.write(100)
    file = open_lines(layout.live)
    assert isinstance(file, LineFile)
    file.reach(file.size)
    place = file.reached
    cut = sum(len(trainer.line(number)) for number in range(kept))
    assert not was_cut(layout, file, *place)
    aside = layout.live.read_bytes()[cut:]
    layout.segments.mkdir()
    layout.abandoned(7).write_bytes(aside if of_its_own else aside.upper())
    os.truncate(layout.live, cut)
    assert was_cut(layout, file, *place) is of_its_own
    assert not was_cut(layout, file, place[0] - 1, place[1])
    file.close()
