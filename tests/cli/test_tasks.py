"""`sonde tasks`: the list, some pairs, a file, and what a model makes of them."""

import json
from pathlib import Path

import pytest

import sonde as package
from sonde.tasks import TASKS, Pairs
from tests.cli.shell import refusal, sonde


def test_the_list_says_what_each_task_is() -> None:
    text = sonde("tasks").stdout
    for task in TASKS.values():
        assert f"{task.name}\n  {task.what}\n" in text
        assert f"{task.n:,} distinct pairs" in text
    state = json.loads(sonde("tasks", "--json").stdout)["tasks"]
    assert [each["name"] for each in state] == list(TASKS)


def test_some_pairs_of_a_task_are_shown() -> None:
    pairs = package.pairs("agreement", n=30, seed=2)
    text = sonde("tasks", "agreement", "--n", 30, "--seed", 2, "--show", 2).stdout
    assert text.startswith(f"agreement: 30 pairs, seed 2, digest {pairs.digest}, Apache-2.0\n")
    assert text.count("clean    ") == 2
    for part in (
        str(pairs[0].clean),
        str(pairs[1].corrupt),
        repr(pairs[0].answer),
        str(pairs[0].cluster),
    ):
        assert part in text


def test_json_and_a_file_hold_the_pairs(tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    done = sonde("tasks", "ioi", "--n", 8, "--show", 8, "--json", "--out", out)
    state = json.loads(done.stdout)
    assert (state["n"], state["digest"]) == (8, Pairs.load(out).digest)
    assert [each["clean"] for each in state["pairs"]] == [each.clean for each in Pairs.load(out)]
    assert "is there already" in refusal(sonde("tasks", "ioi", "--n", 8, "--out", out))


def test_a_file_is_read_and_its_bad_lines_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    package.pairs("ioi", n=3).save(path)
    path.write_text(path.read_text() + "{}\n")
    assert "line 4: field 'clean' is missing" in refusal(sonde("tasks", path))
    text = sonde("tasks", path, "--drop", "--show", 1).stdout
    assert text.startswith("mine: 3 pairs, digest ")
    assert "  left out line 4: field 'clean' is missing" in text


def test_what_is_not_there_is_refused_in_one_line() -> None:
    assert "no task is called 'irony'" in refusal(sonde("tasks", "irony"))
    assert "distinct ones" in refusal(sonde("tasks", "landmarks", "--n", 10**6))


@pytest.mark.slow
def test_the_default_model_is_asked() -> None:
    text = sonde("tasks", "capitals", "--n", 20, "--check", "--show", 0).stdout
    assert "smollm2 is right on 20 of 20 (100.0 %): 20 of 20 (100.0 %) after the clean" in text
