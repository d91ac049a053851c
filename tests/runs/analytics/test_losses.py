from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sonde.runs.analytics.generations import Generations
from sonde.runs.analytics.losses import Losses, all_losses, joined
from tests.runs.analytics import plain
from tests.runs.analytics.conftest import Read


def test_losses_by_generation_are_what_adding_up_by_hand_gives(run: Read) -> None:
    rows = run.known.losses(run.cursor)
    assert rows["records"].sum() == len(run.made.records)
    for place, generation in enumerate(run.made.generations):
        for layer in (0, 15):
            mine = rows[(rows["generation"] == place) & (rows["layer"] == layer)]
            records = [
                record
                for record in plain.of_generation(run.made.records, generation)
                if record["layer_index"] == layer
            ]
            losses = [r["reconstruction_loss"] for r in records if r["reconstruction_loss"]]
            assert mine["records"].sum() == len(records)
            assert mine["count"].sum() == len(losses)
            if losses:
                assert mine["sum"].sum() == pytest.approx(sum(losses), rel=1e-12)
                assert np.nanmin(mine["low"]) == min(losses)
                assert np.nanmax(mine["high"]) == max(losses)


def test_they_are_kept_with_a_volume_and_never_taken_for_those_of_other_generations(
    run: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = run.known.parts[0]
    generations = run.known.generations
    losses = Losses(part, tmp_path)
    first = losses.rows(run.cursor, generations)
    (kept,) = tmp_path.glob("losses-*.npy")
    monkeypatch.setattr("sonde.runs.analytics.losses.joined", None)
    again = Losses(part, tmp_path).rows(run.cursor, generations)
    assert np.array_equal(first, again, equal_nan=False) or len(first) == len(again)
    monkeypatch.undo()
    moved = generations.rows.copy()
    moved["token_end"] -= 1
    fewer = losses.rows(run.cursor, replace(generations, rows=moved))
    assert fewer["records"].sum() < first["records"].sum()
    assert not kept.exists()


def test_where_it_cannot_be_kept_it_is_worked_out_again(run: Read, tmp_path: Path) -> None:
    losses = Losses(run.known.parts[0], tmp_path / "nowhere")
    assert len(losses.rows(run.cursor, run.known.generations))


def test_without_generations_there_are_none(run: Read) -> None:
    assert len(joined(run.cursor, run.known.parts[0], np.zeros((0, 4), np.int64))) == 0
    assert len(all_losses([], run.cursor, Generations())) == 0
