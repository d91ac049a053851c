"""The texts that checkpoints are compared on, and what came of it, kept beside a run."""

from pathlib import Path

import pytest

from sonde.errors import BadRequest
from sonde.runs.layout import RunLayout
from sonde.runs.probes import (
    changed_files,
    chosen,
    keep_changed,
    keep_probes,
    kept_probes,
    known_changes,
)
from sonde.schema.analytics import GenerationRow
from sonde.schema.changed import Changed


def row(step: int, prompt: str, reward: float | None, said: str | None = "yes") -> GenerationRow:
    return GenerationRow(
        generation_id=f"{step}-0", group_id=f"{step}-0", step=step, R=reward, R_A=None, R_B=None,
        R_C=None, R_D=None, gate=None, advantage=None, truncated=False, prompt_tokens=2,
        completion_tokens=1, token_start=0, token_end=1, prompt=prompt, completion=said,
    )  # fmt: skip


def changed(first: int, last: int) -> Changed:
    return Changed(
        made=0.0, first=first, last=last, weights=["a", "b"], probes=1, left_out=0, tokens=1,
        gain=0.5, by_place=[0.5], gained=[], lost=[], places=[], features=[], reasons=[],
    )  # fmt: skip


def test_of_every_prompt_the_best_completion_is_chosen_and_the_newest_of_equals() -> None:
    newest_first = [
        row(9, "a", 0.5),
        row(8, "b", None),
        row(7, "a", 1.0),
        row(6, "a", 1.0),
        row(5, "c", 1.0, None),
    ]
    assert [probe.generation_id for probe in chosen(newest_first, 5)] == ["7-0", "8-0"]
    fits = [probe.generation_id for probe in chosen(newest_first, 5, lambda one: one.step != 7)]
    assert fits == ["6-0", "8-0"]


def test_they_are_spread_evenly_over_the_run() -> None:
    rows = [row(step, f"prompt {step}", 1.0) for step in range(20, 0, -1)]
    assert [probe.step for probe in chosen(rows, 4)] == [1, 6, 11, 16]


def test_they_are_kept_and_read_again(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    assert kept_probes(layout) == []
    probes = chosen([row(2, "ü\n", 1.0), row(1, "b", None)], 2)
    keep_probes(layout, probes)
    assert kept_probes(layout) == probes
    layout.probes.write_text("{}\n")
    with pytest.raises(BadRequest, match="remove it"):
        kept_probes(layout)


def test_the_longest_way_to_the_last_checkpoint_is_shown(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    nothing = known_changes(layout)
    assert (nothing.known, nothing.changed) == ([], None)
    assert nothing.reason == "nobody has compared checkpoints of this run yet"
    for steps in ((0, 10), (10, 20), (0, 20)):
        keep_changed(layout, changed(*steps))
    (layout.changed / "notes.json").write_text("{}")
    found = known_changes(layout)
    assert found.known == [[0, 10], [0, 20], [10, 20]]
    assert found.changed == changed(0, 20)
    assert known_changes(layout, first=10).changed == changed(10, 20)
    assert "between these steps" in (known_changes(layout, first=5).reason or "")
    assert list(changed_files(layout)) == [(0, 10), (0, 20), (10, 20)]


def test_what_cannot_be_read_has_a_reason(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    path = keep_changed(layout, changed(0, 1))
    path.write_text("{")
    assert known_changes(layout).reason == "it cannot be read"
    path.write_text('{"first": 0}')
    assert known_changes(layout).reason == "0-1.json was written by another version"
