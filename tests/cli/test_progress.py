"""What is said while a command works."""

import io
import sys

import pytest
from rich.console import Console

from sonde.cli.progress import Bar, Lines, Pace, progress, time_left
from sonde.schema import Cell, PromptTokens, Start
from sonde.schema.table import TableCell, TableStart

CELL = Cell(hook="post_block", layer=0, position=0, value=0.0)


def start(cells: int) -> Start:
    return Start(
        layers=[0],
        positions=list(range(cells)),
        hook="post_block",
        metric="logprob",
        auto_captured=True,
        captured_source_run=None,
        cells=cells,
        tokens=PromptTokens(prompt=["a"] * cells),
    )


def table_start(cells: int) -> TableStart:
    return TableStart(
        tables=[],
        metric="logprob",
        cells=cells,
        corrupt={},
        clean=None,
        tokens=PromptTokens(prompt=["a"]),
    )


class Clock:
    """Time that passes when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_pace_says_how_many_how_fast_and_how_long() -> None:
    clock = Clock()
    pace = Pace(270, clock)
    assert str(pace) == "0 of 270 cells"
    for _ in range(90):
        clock.now += 1 / 8
        pace.cell()
    assert str(pace) == "90 of 270 cells, 8.00 cells/s, 22 s left"
    clock.now += 2
    assert str(pace) == "90 of 270 cells, 8.00 cells/s, 20 s left"
    clock.now += 30
    assert str(pace).endswith("cells/s, nearly done")


def test_cells_that_need_no_work_promise_nothing_about_those_that_do() -> None:
    clock = Clock()
    pace = Pace(100, clock)
    clock.now = 2.0
    for _ in range(50):
        pace.cell()
    assert str(pace) == "50 of 100 cells"
    clock.now = 3.0
    for _ in range(25):
        pace.cell()
    clock.now = 3.5
    assert str(pace) == "75 of 100 cells", "one chunk is no measure of the others"
    clock.now = 4.0
    for _ in range(5):
        pace.cell()
    clock.now = 4.2
    assert str(pace) == "80 of 100 cells, 15.0 cells/s, 1 s left"


def test_the_first_cell_of_a_chunk_is_no_measure_of_the_chunk() -> None:
    clock = Clock()
    pace = Pace(2000, clock)
    pace.cell()
    for chunk in range(2):
        clock.now += 3.0
        for _ in range(300):
            pace.cell()
        clock.now += 0.1 * chunk
    clock.now += 3.0
    pace.cell()
    assert str(pace) == "602 of 2,000 cells, 100 cells/s, 11 s left"


def test_cells_without_a_pause_are_told_in_pieces() -> None:
    clock = Clock()
    pace = Pace(10_000, clock)
    for _ in range(4_000):
        clock.now += 0.001
        pace.cell()
    assert str(pace) == "4,000 of 10,000 cells, 1,000 cells/s, 6 s left"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-3.0, "nearly done"),
        (1.0, "1 s left"),
        (59.4, "59 s left"),
        (125.0, "2 min 05 s left"),
    ],
)
def test_the_time_left_is_a_round_number(seconds: float, expected: str) -> None:
    assert time_left(seconds) == expected


def test_lines_come_for_each_tenth_and_not_more_than_one_a_second(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    lines = Lines(clock)
    lines.event(start(1000))
    for _ in range(1000):
        clock.now += 1 / 16
        lines.event(CELL)
    printed = capsys.readouterr()
    assert printed.out == ""
    said = printed.err.splitlines()
    assert said[0] == "patching: 100 of 1,000 cells, 16.0 cells/s, 56 s left"
    assert len(said) == 10


def test_the_cells_of_tables_count_as_those_of_grids_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    lines = Lines(clock)
    lines.event(table_start(100))
    for number in range(100):
        clock.now += 1 / 4
        lines.event(TableCell(table=0, at=[number], values={}))
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "patching: 10 of 100 cells, 4.00 cells/s, 22 s left"
    assert len(said) == 10


def test_fast_cells_do_not_make_more_lines(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines = Lines(clock)
    lines.event(start(1000))
    for _ in range(1000):
        clock.now += 1 / 256
        lines.event(CELL)
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_cells_of_a_general_sweep_count_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines = Lines(clock)
    lines.event(
        TableStart(
            tables=[], metric="logprob", cells=10, corrupt={}, clean=None,
            tokens=PromptTokens(prompt=["a"]),
        )
    )  # fmt: skip
    for n in range(10):
        clock.now += 1
        lines.event(TableCell(table=0, at=[n], values={"logprob": 0.0}))
    assert capsys.readouterr().err.splitlines()[0] == "patching: 1 of 10 cells"


def test_a_second_sweep_is_told_as_the_first_was(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines = Lines(clock)
    told = []
    for _ in range(2):
        lines.event(start(100))
        for _ in range(100):
            clock.now += 1 / 4
            lines.event(CELL)
        told.append(capsys.readouterr().err)
    assert told[0] == told[1] != ""


def test_a_short_sweep_needs_no_lines(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(Clock())
    lines.event(start(10))
    for _ in range(10):
        lines.event(CELL)
    assert capsys.readouterr().err == ""


def test_names_cannot_write_escape_sequences_to_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines() as lines:
        lines.say("loading \x1b[2J")
        lines.now("nothing")
    assert capsys.readouterr().err == "loading \\x1b[2J\n"


def shown(bar: Bar, console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    bar._rich.refresh()
    return console.file.getvalue()


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)


def test_a_bar_shows_the_cells_and_leaves_no_trace_but_its_lines() -> None:
    clock, console = Clock(), terminal()
    with Bar("loading [b]x", console, clock) as bar:
        assert "loading [b]x" in shown(bar, console)
        bar.say("loading [b]x")
        bar.say("loaded [b]x \x1b[2J")
        bar.event(start(6))
        for seconds in (0.0, 2.0, 4.0):
            clock.now = seconds
            bar.event(CELL)
        clock.now = 4.1
        text = shown(bar, console)
        assert "patching" in text
        assert "3 of 6 cells, 0.500 cells/s, 6 s left" in text
    text = shown(bar, console)
    assert text.count("loaded [b]x \\x1b[2J") == 1
    assert "\x1b[2J" not in text


def test_a_bar_has_counted_the_last_cell_of_a_burst() -> None:
    clock, console = Clock(), terminal()
    with Bar("loading", console, clock) as bar:
        bar.event(start(1000))
        for seconds in (1.0, 2.0, 3.0):
            clock.now = seconds
            for _ in range(250):
                bar.event(CELL)
        clock.now = 3.1
        assert "750 of 1,000 cells, 250 cells/s, nearly done" in shown(bar, console)


@pytest.mark.parametrize(
    ("isatty", "term", "kind"),
    [(True, "xterm", Bar), (True, "dumb", Lines), (False, "xterm", Lines)],
)
def test_only_a_terminal_gets_a_bar(
    isatty: bool, term: str, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: isatty)
    assert type(progress("loading")) is kind
