import json
from pathlib import Path

import pytest

from sonde.errors import BadReward
from sonde.training.assignments import assignment, read_prompts


def test_without_a_word_it_is_the_catalog() -> None:
    found = assignment(6, 0, prompts=None, reward=None)
    assert len(found.rows) == 6
    assert found.task.name == "catalog"
    row = found.rows[0]
    graded = found.verify(row["prompt"], row["target"], target=row["target"])
    assert getattr(graded, "reward", None) == 1


def test_prompts_and_reward_of_your_own(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "a", "answer": 1}\n\n{"prompt": "b", "answer": 2}\n')
    (tmp_path / "mine.py").write_text("def verify(prompt, completion, answer): return answer / 2\n")
    found = assignment(3, 0, prompts=prompts, reward=f"{tmp_path}/mine.py:verify")
    assert [row["prompt"] for row in found.rows] == ["a", "b", "a"]
    assert found.verify("b", "", answer=2) == 1
    assert found.task.catalog_version == ""


@pytest.mark.parametrize("content", ["", "not json\n", '{"question": "a"}\n', "[1]\n"])
def test_prompts_that_are_none_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(content)
    with pytest.raises(BadReward, match=r"prompts\.jsonl"):
        read_prompts(path, 3)


def test_columns_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    row = {"prompt": [{"role": "user", "content": "hi"}], "more": [1, 2]}
    path.write_text(json.dumps(row))
    assert read_prompts(path, 1) == [row]
