"""The whole report in a terminal."""

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.text import Text

from sonde.results import Sweep
from sonde.results.pen import Pen
from sonde.results.terminal import render
from sonde.schema import Grid, Skipped
from tests.results.summaries import (
    LAYERS,
    SHAPES,
    WEIRD,
    control,
    general,
    provenance,
    sweep,
    table,
    three_hooks,
    with_tokens,
)

RESULTS = {
    "nulls": sweep(),
    "one cell": sweep({"mlp_in": [[-1.0]]}),
    "only a null": sweep({"mlp_in": [[None]]}, corrupt=None, clean=None),
    "three hooks": three_hooks(),
    "long": three_hooks(4, 120),
    "weird": with_tokens(*WEIRD, warnings=["a\x1b[31m warning " * 9]),
    **SHAPES,
}

COLOUR = re.compile(r"\x1b\[(?:1|2|0|38;2;\d+;\d+;\d+;48;2;\d+;\d+;\d+)m")


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("width", [20, 40, 80, 140])
@pytest.mark.parametrize("color", [False, True])
def test_no_line_is_wider_than_the_terminal(result: Sweep, width: int, color: bool) -> None:
    for line in render(result, width=width, pen=Pen(color)).splitlines():
        assert cell_len(Text.from_ansi(line).plain) <= width


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_without_colour_there_is_not_one_escape_sequence(result: Sweep) -> None:
    assert "\x1b" not in render(result, width=80, pen=Pen(False))


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_with_colour_the_only_escape_sequences_are_our_own(result: Sweep) -> None:
    text = render(result, width=80, pen=Pen(True))
    assert "48;2;" in text or result.argmax is None
    assert "\x1b" not in COLOUR.sub("", text)


def test_colour_changes_nothing_but_colour_where_there_is_room_for_numbers() -> None:
    plain, coloured = (render(sweep(), width=80, pen=Pen(color)) for color in (False, True))
    lines = [line.rstrip() for line in Text.from_ansi(coloured).plain.splitlines()]
    legend = f"−5.50{' ' * 34}−1.00"
    assert legend in lines
    assert [line for line in lines if line != legend] == plain.splitlines()


def test_the_report_says_what_was_asked_found_and_checked() -> None:
    result = sweep(
        controls=[control()] * 4,
        warnings=["one sample only"],
        skipped=[Skipped(position=7, reason="unaligned")],
    )
    lines = render(result, width=80, pen=Pen(False)).splitlines()
    assert lines[0] == "tiny/llama: log-probability of “·Paris”"
    assert lines[1] == "clean    The Eiffel Tower is in the city of  −0.50"
    assert lines[2] == "corrupt  The Colosseum is in the city of  −5.00"
    assert "  −1.00  +4.00  post_block  layer   1  position   0  “<s>”" in lines
    assert "noise floor  0: the baseline has the same bits among patched rows" in lines
    assert "controls     4 of 4 equal the baseline, bit for bit" in lines
    assert "time         6 cells in 0.71 s, 8.45 cells/s" in lines
    assert "skipped      position 7: unaligned" in lines
    assert "warning      one sample only" in lines


def test_marks_are_explained_only_when_they_occur() -> None:
    assert "● largest   × no number" in render(sweep(), width=80, pen=Pen(False))
    noisy = render(sweep(noise_floor=0.25), width=80, pen=Pen(False))
    assert "● largest   ~ within the noise floor   × no number" in noisy


def test_recovered_needs_no_second_column_for_the_change() -> None:
    text = render(sweep({"mlp_in": [[0.25]]}, metric="recovered"), width=80, pen=Pen(False))
    assert "  0.250  mlp_in  layer   0  position   0  “<s>”" in text.splitlines()


def test_a_long_prompt_says_which_positions_are_not_drawn() -> None:
    grid: Grid = [[*[-5.0] * 50, *[-4.0] * 10]]
    text = render(sweep({"mlp_out": grid}), width=80, pen=Pen(False))
    assert "not drawn, because no patch changed anything: 50 positions, 0–49" in text


def test_a_model_name_cannot_drive_the_terminal() -> None:
    evil = provenance().model_copy(update={"model": "\x1b]0;x\x07"})
    named = replace(sweep(), provenance=evil)
    assert "\x1b" not in render(named, width=80, pen=Pen(False))


def test_a_sweep_of_layers_alone_is_one_column() -> None:
    lines = render(SHAPES["one axis"], width=80, pen=Pen(False)).splitlines()
    start = next(n for n, line in enumerate(lines) if "post_block" in line)
    rows = [line.split() for line in lines[start : start + 5]]
    assert rows == [["post_block"], ["6", "●−4.00"], ["3", "−4.50"], ["0", "−5.00"], []]
    assert "  −4.00  +1.00  post_block  layer   6" in lines


def test_tables_of_unlike_axes_stand_one_above_the_other() -> None:
    text = render(SHAPES["unlike axes"], width=80, pen=Pen(False))
    assert text.index("post_block") < text.index("mlp_out")
    assert text.count("The") >= 2


def test_what_was_chosen_on_the_way_is_said() -> None:
    noted = general(table(LAYERS), notes={"answer": "·Par|is: several tokens"})
    assert "answer       ·Par|is: several tokens" in render(noted, width=80, pen=Pen(False))
