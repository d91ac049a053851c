import re
from collections.abc import Iterator

import pytest
from rich.cells import cell_len

from sonde.cli.watch_view import View, frame, heatmap
from sonde.results.pen import Pen
from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.database import connect
from sonde.runs.analytics.heatmap import layer_tile, time_axis
from sonde.runs.analytics.steplines import HealthLine
from sonde.runs.reader import run_row
from tests.runs.analytics.conftest import Read, reading
from tests.runs.analytics.made import made_run, reference_run

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    made = made_run(tmp_path_factory.mktemp("watched") / "run")
    with connect() as connection, reading(made, connection) as read:
        yield read


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    made = reference_run(tmp_path_factory.mktemp("watched") / "reference")
    with connect() as connection, reading(made, connection) as read:
        yield read


def drawn(
    read: Read, *, color: bool = False, width: int = 80, known: RunContents | None = None
) -> list[str]:
    view = View(Pen(color), width)
    row = run_row(read.made.layout, "run")
    return frame(known or read.known, read.cursor, row, 2e9, view)


@pytest.mark.parametrize("color", [True, False])
@pytest.mark.parametrize("width", [40, 80, 133])
def test_a_frame_fits_and_has_colour_only_if_asked(run: Read, color: bool, width: int) -> None:
    lines = drawn(run, color=color, width=width)
    assert max(cell_len(ESCAPES.sub("", line)) for line in lines) <= width
    assert ("\x1b" in "".join(lines)) is color


def test_it_shows_layers_rewards_fit_and_warnings(run: Read) -> None:
    text = "\n".join(drawn(run))
    assert "step 12" in text
    assert f"{len(run.made.records):,} records of 2 layers" in text
    assert "reconstruction loss, highest, steps 1 to 12" in text
    assert "mean reward, steps 1 to 12" in text
    assert "FVU   layer 0" in text
    assert "no warnings" in text


def test_without_colour_a_cell_is_its_place_from_0_to_9_and_the_spike_is_seen(run: Read) -> None:
    tile = layer_tile(run.known, run.cursor, time_axis(run.known, None, None, None, columns=50))
    title, upper, lower = heatmap(tile, View(Pen(False), 80))
    digits = upper.split()[1]
    values = tile.high[1]
    high, low = max(v for v in values if v), min(v for v in values if v)
    expected = "".join(str(min(9, int(10 * ((v or 0) - low) / (high - low)))) * 3 for v in values)
    assert digits == expected
    assert upper.split()[0] == "15"
    assert lower.split()[0] == "0"
    mean = list(heatmap(tile, View(Pen(False), 80, "mean")))
    assert mean[1] != upper
    assert "mean" in mean[0]
    assert "highest" in title


def test_a_warning_that_stands_is_shown_and_cannot_write_to_the_terminal(run: Read) -> None:
    health = (*run.known.health, HealthLine(13, alarms=("disk \x1b[2J full: now",)))
    known = RunContents(run.known.ingested, run.known.generations, run.known.metrics, health)
    text = "\n".join(drawn(run, known=known))
    assert "! since step 13: disk \\x1b[2J full: now" in text


def test_a_run_of_the_reference_and_an_empty_one_say_what_is_missing(
    reference: Read,
) -> None:
    text = "\n".join(drawn(reference))
    assert "tokens 0 to" in text
    assert "no grpo_metrics.jsonl" in text.replace("\n", " ")
    assert "no health" in text
    empty = "\n".join(drawn(reference, known=RunContents()))
    assert "no records yet" in empty
