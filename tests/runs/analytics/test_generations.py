import json
from pathlib import Path

import numpy as np

from sonde.runs.analytics.generations import GenerationFile, gate_of, numbers, present


def line(step: int, number: int, **more: object) -> str:
    known = {
        "step": step,
        "generation_id": f"{step}-{number}",
        "group_id": f"{step}-0",
        "token_start": number * 10,
        "token_end": number * 10 + 10,
    }
    return json.dumps(known | more) + "\n"


def test_generations_are_in_order_of_step_and_place_whatever_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "generations.jsonl"
    path.write_text(line(2, 1) + line(1, 0, R=0.5, gate=True) + line(2, 0))
    found = GenerationFile(path).advance()
    assert found.ids == ("1-0", "2-0", "2-1")
    assert found.rows["R"][0] == 0.5
    assert np.isnan(found.rows["R"][1])
    assert found.rows["gate"].tolist() == [1, -1, -1]
    assert [found.groups[group] for group in found.rows["group"]] == ["1-0", "2-0", "2-0"]
    assert found.spans.tolist() == [[1, 0, 10, 10], [2, 0, 10, 10], [2, 10, 20, 20]]
    assert found.between(2, 2) == slice(1, 3)
    assert found.between(3, 9) == slice(3, 3)


def test_new_ones_are_added_and_a_rewritten_file_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "generations.jsonl"
    file = GenerationFile(path)
    assert not file.advance().there
    path.write_text(line(1, 0))
    first = file.advance()
    assert file.advance() is first
    with path.open("a") as more:
        more.write(line(1, 1) + "nonsense\n")
    assert file.advance().ids == ("1-0", "1-1")
    assert file.withheld == 1
    path.write_text(line(9, 0))
    again = file.advance()
    assert again.ids == ("9-0",)
    assert again.groups == ("9-0",)


def test_what_is_missing_or_no_number_is_null_on_the_way_out() -> None:
    found = numbers([1.5, None, float("inf")])
    assert [present(value) for value in found] == [1.5, None, None]
    assert [gate_of(gate) for gate in (1, 0, -1)] == [True, False, None]
