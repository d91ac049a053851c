"""A result as data."""

import csv
import io
import json
from pathlib import Path

import pytest

from sonde.errors import BadRequest
from sonde.results import Sweep
from sonde.schema import MetricGrid
from tests.results.summaries import SHAPES, WEIRD, sweep, three_hooks, with_tokens


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


@pytest.mark.parametrize(
    "result",
    [sweep(), three_hooks(4, 5), sweep({"mlp_in": [[None]]}), with_tokens(*WEIRD)],
    ids=["nulls", "three hooks", "one null", "weird tokens"],
)
def test_json_reads_back_equal_and_never_holds_nan(result: Sweep) -> None:
    text = result.to_json()
    json.loads(text, parse_constant=refuse)
    assert Sweep.from_json(text) == result


def test_json_can_be_read_from_the_file_it_was_saved_to(tmp_path: Path) -> None:
    path = sweep().save(tmp_path / "result.json")
    assert Sweep.from_json(path) == sweep()
    assert path.read_text(encoding="utf-8") == sweep().to_json()


def test_a_number_survives_to_the_last_bit() -> None:
    value = -5.0 + 2**-50
    read = Sweep.from_json(sweep({"mlp_in": [[value]]}).to_json())
    assert read.grids["mlp_in"][0, 0] == value


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "sonde.sweep.1"}', "result.json"])
def test_text_that_is_no_result_says_so_in_one_line(text: str) -> None:
    with pytest.raises(BadRequest, match="not a sweep saved as JSON") as caught:
        Sweep.from_json(text)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="absent.json"):
        Sweep.from_json(tmp_path / "absent.json")


def test_csv_has_a_line_for_every_cell_and_nothing_for_a_null() -> None:
    rows = list(csv.DictReader(io.StringIO(sweep().to_csv())))
    assert len(rows) == 6
    assert rows[1] == {
        "hook": "post_block",
        "layer": "0",
        "position": "1",
        "token": "The",
        "metric": "logprob",
        "value": "-4.0",
    }
    assert rows[2]["value"] == ""


def test_csv_keeps_raw_tokens_even_with_line_ends_in_them() -> None:
    text = with_tokens("a\nb", 'c"d', "e\r", ",").to_csv()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["token"] for row in rows[:4]] == ["a\nb", 'c"d', "e\r", ","]


def test_csv_appends_the_further_metrics() -> None:
    further = MetricGrid(
        metric="recovered", hook="post_block", grid=[[0.5] * 3] * 2, argmax=None, argmin=None
    )
    rows = list(csv.DictReader(io.StringIO(sweep(metric_grids=[further]).to_csv())))
    assert [row["metric"] for row in rows] == ["logprob"] * 6 + ["recovered"] * 6


def test_csv_is_written_when_a_path_is_given(tmp_path: Path) -> None:
    text = sweep().to_csv(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == text.encode()


def test_a_general_sweep_is_stored_as_its_table() -> None:
    result = SHAPES["several metrics"]
    stored = json.loads(result.to_json(), parse_constant=refuse)
    assert (stored["format"], sorted(stored)) == (
        "sonde.sweep.2",
        ["format", "provenance", "table"],
    )
    assert stored["table"]["tables"][0]["values"]["rank"][0] == -5.0


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("two axes", "hook,layer,position,token,metric,value"),
        ("one axis", "hook,layer,metric,value"),
        ("three axes", "hook,layer,feature,position,token,metric,value"),
        ("words", "hook,feature,feature_label,metric,value"),
        ("unlike axes", "hook,layer,position,token,metric,value"),
        ("no axis", "hook,metric,value"),
    ],
)
def test_csv_has_a_column_for_every_axis(name: str, header: str) -> None:
    lines = list(csv.DictReader(io.StringIO(SHAPES[name].to_csv())))
    assert ",".join(lines[0]) == header
    assert len(lines) == sum(view.values.size for view in SHAPES[name].views)


def test_csv_leaves_an_axis_empty_that_a_table_lacks() -> None:
    first, *_, last = csv.DictReader(io.StringIO(SHAPES["unlike axes"].to_csv()))
    assert (first["hook"], first["layer"], first["position"]) == ("post_block", "0", "")
    assert (last["hook"], last["position"], last["token"]) == ("mlp_out", "2", " Colos")
