"""Many pairs on the command line: a task or a file, roles, and what does not go with them."""

from pathlib import Path
from typing import Any

import pytest

from sonde.cli.pairs import pairs_of, places_of, refuse_others
from sonde.errors import BadRequest
from sonde.tasks import pairs


def test_a_task_says_how_many_and_the_seed_which(tmp_path: Path) -> None:
    assert pairs_of("--pairs", "agreement:5", 3).pairs == pairs("agreement", n=5, seed=3).pairs
    assert len(pairs_of("--pairs", "agreement", 0)) == 200
    pairs("ioi", n=4).save(tmp_path / "mine.jsonl")
    assert len(pairs_of("--pairs", str(tmp_path / "mine.jsonl"), 0)) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agreement:many", "'many' is not how many"),
        ("agrement:5", "did you mean 'agreement'|agree"),
    ],
)
def test_what_is_no_task_is_refused_with_what_would_work(text: str, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        pairs_of("--pairs", text, 0)


def test_positions_of_pairs_are_roles_and_numbers_from_either_end() -> None:
    assert places_of("--positions", ["subject_last,end,-1"]) == ["subject_last", "end", -1]
    assert places_of("--positions", ["roles"]) == "roles"
    with pytest.raises(BadRequest, match="roles takes nothing beside it"):
        places_of("--positions", ["roles,end"])


def test_what_is_about_one_prompt_does_not_go_with_pairs() -> None:
    from sonde.cli.pairs import ALONE

    plain: dict[str, Any] = dict.fromkeys([*ALONE, "mask", "source_positions"])
    refuse_others(plain)
    with pytest.raises(BadRequest, match="leave --answer-token-id out"):
        refuse_others(plain | {"answer_token_id": (5,)})
