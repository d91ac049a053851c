import json
from pathlib import Path

import pytest

from sonde.runs.layout import RunLayout
from sonde.runs.totals import Totals, totals


@pytest.fixture
def layout(tmp_path: Path) -> RunLayout:
    (tmp_path / "segments").mkdir()
    return RunLayout(tmp_path)


def health(step: int, written: int, dropped: int, wrong: int = 0) -> str:
    layer = {"layer_index": 3, "non_finite": {"reconstruction_loss": wrong} if wrong else {}}
    line = {"step": step, "records_written": written, "records_dropped": dropped}
    return json.dumps(line | {"fragments": 1, "layers": [layer]}) + "\n"


def test_records_are_counted_in_files_and_losses_in_the_last_line(layout: RunLayout) -> None:
    layout.segment(5).write_text("{}\n" * 7)
    layout.abandoned(5).write_text("{}\n" * 100)
    layout.live.write_text("{}\n" * 2)
    layout.health.write_text(health(1, 3, 1) + "no json\n" + health(5, 7, 4, wrong=2))
    assert totals(layout) == Totals(
        records_written=9,
        records_dropped=4,
        fragments=1,
        non_finite={3: {"reconstruction_loss": 2}},
    )


def test_trainers_that_counted_for_themselves_are_added_up(layout: RunLayout) -> None:
    layout.health.write_text(health(1, 10, 1) + health(2, 20, 2, 1) + health(3, 5, 7, 2))
    found = totals(layout)
    assert (found.records_dropped, found.fragments) == (9, 2)
    assert found.non_finite == {3: {"reconstruction_loss": 3}}


def test_a_run_without_files_has_nothing(layout: RunLayout) -> None:
    assert totals(layout) == Totals()
