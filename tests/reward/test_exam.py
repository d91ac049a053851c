"""Which prompts a run has not had, and who grades their completions."""

import json
from pathlib import Path
from typing import Any

import pytest

from sonde.errors import BadRequest, BadReward
from sonde.reward.exam import exam_of, read_rows, said_of
from sonde.runs.layout import RunLayout
from sonde.training.rewards.catalog import catalog_task, load_catalog
from sonde.training.rewards.descriptions import questions


def run_of(directory: Path, prompts: list[str], **info: Any) -> RunLayout:
    """A run directory that has had some prompts."""
    layout = RunLayout(directory)
    rows = [{"prompt": text, "completion_tokens": 5 + n} for n, text in enumerate(prompts)]
    layout.generations.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"half')
    task = catalog_task(load_catalog())
    whole = {
        "run_id": "r",
        "model": "m",
        "saes": [],
        "layers": [],
        "k": 1,
        "cadence": {
            "record_every_n_tokens": 1,
            "spill_every_n_steps": 1,
            "save_every_n_steps": None,
        },
        "versions": {},
        "started": 0.0,
        "status": "finished",
        "task": task.name,
        "files": task.files,
    } | info
    layout.run_info.write_text(json.dumps(whole))
    return layout


def test_catalog_prompts_are_none_that_the_run_has_had(tmp_path: Path) -> None:
    had = [each.prompt for each in questions(load_catalog(), 40, seed=0)]
    layout = run_of(tmp_path, had)
    exam = exam_of(layout, 24)
    texts = [row["prompt"] for row in exam.rows]
    assert len(set(texts)) == 24
    assert not set(texts) & set(had)
    assert exam.max_tokens == 44
    assert exam.notes["trained"] == "40 prompts were left out: the run has been trained on them"
    assert said_of(layout) == (set(had), 44)
    again = exam_of(layout, 24)
    assert again.rows == exam.rows
    assert exam_of(layout, 24, seed=1).rows != exam.rows


def test_the_catalog_s_verifier_grades_with_its_gate(tmp_path: Path) -> None:
    exam = exam_of(run_of(tmp_path, ["x"]), 4)
    target = exam.rows[2]["target"]
    assert exam.grade(2, f" {target}").reward == pytest.approx(1.0)
    assert exam.grade(2, f" {target}").gate is True
    assert exam.grade(2, "nothing of the kind") == (0.0, False)


def test_a_reward_of_one_s_own_grades_prompts_of_one_s_own(tmp_path: Path) -> None:
    layout = run_of(tmp_path, ["one", "two"], task="mine.py:verify")
    rows = [{"prompt": text, "wanted": text[0]} for text in ("two", "three", "four", "three")]

    def verify(prompt: str, completion: str, *, wanted: str) -> float:
        return float(completion.startswith(wanted))

    exam = exam_of(layout, 64, verify=verify, rows=rows)
    assert [row["prompt"] for row in exam.rows] == ["three", "four"]
    assert exam.grade(0, "tell") == (1.0, None)
    assert exam.grade(1, "tell") == (0.0, None)
    assert "2 of 64" in exam.notes["prompts"]


def test_nothing_that_a_run_s_files_name_is_loaded(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    code = tmp_path / "mine.py"
    code.write_text(f"open({str(marker)!r}, 'w')\ndef verify(*_, **__): return 1.0\n")
    layout = run_of(tmp_path, ["one"], task=f"{code}:verify")
    with pytest.raises(BadRequest, match="not loaded because a run's files name it"):
        exam_of(layout, 8)
    assert not marker.exists()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    layout = run_of(tmp_path, ["one"], files={"catalog": "0" * 64})
    with pytest.raises(BadRequest, match="graded by another catalog"):
        exam_of(layout, 8)
    layout = run_of(tmp_path, ["one"], task=None)
    with pytest.raises(BadRequest, match="its own trainer's reward"):
        exam_of(layout, 8)
    with pytest.raises(BadRequest, match="give prompts too"):
        exam_of(layout, 8, verify=lambda *_: 1.0)
    with pytest.raises(BadRequest, match="0 prompts that the run has not been trained on"):
        exam_of(layout, 8, verify=lambda *_: 1.0, rows=[{"prompt": "one"}])
    layout.generations.unlink()
    with pytest.raises(BadRequest, match="not known how long completions are"):
        exam_of(layout, 8)
    bad = tmp_path / "rows.jsonl"
    bad.write_text('{"prompt": "x"}\n{"text": 1}\n')
    with pytest.raises(BadReward, match="prompt 2 is no object with a `prompt`"):
        read_rows(bad)
