"""A sweep over the checkpoints of a run: each has the numbers it has alone, in one table."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.course import Checkpoints, chosen_steps
from sonde.engine.course import check_course, sweep_course
from sonde.errors import BadRequest, UnknownModel, UnknownRun
from sonde.results import CheckpointSweep, Sweep, files
from sonde.results.course import alone, drawn
from sonde.sae.formats.sonde import save_autoencoder
from sonde.schema.checkpoint import CheckpointAxis
from sonde.schema.table import FeatureAxis, SweepRequest, TableCell, TableStart, TableSummary
from tests.sae.reading import mirror
from tests.tiny_model import save_tiny_model

STEPS = [10, 20, 30]
ASKED: dict[str, Any] = {
    "clean": "The Eiffel Tower is in the city of",
    "corrupt": "The Colosseum is in the city of",
    "answer": " Paris",
    "pairing": "last",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three checkpoints that have nothing to do with one another."""
    folder = tmp_path_factory.mktemp("runs") / "one"
    for step in STEPS:
        save_tiny_model(folder / f"checkpoint-{step}", seed=step)
    return folder


def ordinary(run: Path, step: int, **fields: Any) -> Sweep:
    return sonde.load(str(run / f"checkpoint-{step}")).sweep(**ASKED | fields)


def test_every_checkpoint_has_the_bits_of_its_ordinary_sweep(run: Path) -> None:
    found = sonde.checkpoints(run).sweep(**ASKED, metrics=["prob"])
    assert found.steps == STEPS
    assert list(found.axes["post_block"]) == ["checkpoint", "layer"]
    for index, step in enumerate(STEPS):
        same = ordinary(run, step, metrics=["prob"])
        np.testing.assert_array_equal(found.each["post_block"][index], same.grids["post_block"])
        mine, record = found.at(step), found.records[index]
        assert mine.table.tables == same.table.tables
        assert mine.corrupt == same.corrupt
        assert record.weights == same.provenance.weights
        assert record.noise_floor == same.table.noise_floor
    assert len({record.weights for record in found.records}) == 3


def test_the_picture_is_the_strongest_change_from_each_checkpoint_s_own_zero(run: Path) -> None:
    found = sonde.checkpoints(run, [30, 10]).sweep(**ASKED)
    assert found.steps == [10, 30]
    for index, step in enumerate(found.steps):
        same = ordinary(run, step)
        change = same.grids["post_block"] - (same.corrupt or 0.0)
        best = np.nanargmax(np.abs(np.nan_to_num(change)), axis=1)
        expected = change[np.arange(len(best)), best]
        np.testing.assert_array_equal(found.grids["post_block"][index], expected)
    assert found.baseline == 0.0
    assert not found.doubts[0].any()


def test_cells_within_the_noise_floor_of_their_own_step_are_hatched(run: Path) -> None:
    found = sonde.checkpoints(run, [10, 20]).sweep(**ASKED)
    largest = float(np.abs(found.grids["post_block"][1]).max())
    records = [
        record.model_copy(update={"noise_floor": {"logprob": floor}})
        for record, floor in zip(found.records, [0.0, largest], strict=True)
    ]
    noisy = found.whole.model_copy(update={"checkpoints": records})
    doubts = CheckpointSweep.over(noisy, found.provenance).doubts[0]
    assert not doubts[0].any()
    assert doubts[1].all()


def test_from_a_checkpoint_into_itself_is_the_ordinary_sweep_bit_for_bit(run: Path) -> None:
    for hooks in (["post_block", "mlp_out"], ["z", "v"]):
        found = sonde.checkpoints(run, [20]).sweep(**ASKED, hooks=hooks, sources_from=20)
        assert found.at(20).table.tables == ordinary(run, 20, hooks=hooks).table.tables


def test_from_another_checkpoint_both_weights_are_said_and_the_numbers_are_others(
    run: Path,
) -> None:
    found = sonde.checkpoints(run, [20]).sweep(**ASKED, sources_from=10)
    weights = {
        step: sonde.load(str(run / f"checkpoint-{step}")).describe().weights for step in STEPS
    }
    assert found.whole.notes["sources"] == f"checkpoint-10, weights {weights[10]}"
    assert found.records[0].weights == weights[20]
    assert found.at(20).table.tables != ordinary(run, 20).table.tables
    # What enters layer 0 is replaced by what the other model has there.
    last = sonde.checkpoints(run, [20]).sweep(**ASKED, layers=[1], sources_from=10)
    assert last.at(20).grids["post_block"].shape[0] == 1


def test_features_are_those_of_the_newest_at_every_checkpoint(run: Path, tmp_path: Path) -> None:
    path = save_autoencoder(mirror(0), tmp_path / "mirror")
    axis = FeatureAxis(layer=0, dictionary=str(path), top=3, by="activation", draws=2, error=False)
    found = sonde.checkpoints(run).sweep(**ASKED, features=axis)
    named = found.whole.tables[0].axes[1].values
    newest = ordinary(run, 30, features=axis)
    assert named == newest.table.tables[0].axes[0].values
    assert [t.kind for t in found.whole.tables] == ["cells", "random_direction"]
    foil = int(found.whole.notes["foil_id"])
    for index, step in enumerate(STEPS):
        exact = axis.model_copy(update={"numbers": list(named)})
        same = ordinary(run, step, features=exact, foil=foil, metric="logit_diff")
        for label, row in zip(*_rows(same), strict=True):
            where = found.whole.tables[0].axes[1].labels.index(label)
            assert found.each["post_block"][index, where, -1] == row[-1]
    assert found.grids["post_block"].shape == (3, 3)


def _rows(sweep: Sweep) -> tuple[list[str], np.ndarray[Any, Any]]:
    table = sweep.table.tables[0]
    return table.axes[0].labels, sweep.grids["post_block"]


def test_it_is_saved_and_read_back_drawn_and_exported(run: Path, tmp_path: Path) -> None:
    found = sonde.checkpoints(run).sweep(**ASKED)
    for suffix in ("json", "csv", "html", "png", "parquet"):
        assert found.save(tmp_path / f"course.{suffix}").stat().st_size > 500
    again = Sweep.from_json(tmp_path / "course.json")
    assert isinstance(again, CheckpointSweep)
    assert again == found
    lines = (tmp_path / "course.csv").read_text().splitlines()
    assert lines[0].startswith('"hook","checkpoint","layer","position"')
    assert len(lines) == 1 + sum(len(t.values["logprob"]) for t in found.whole.tables)
    assert files.suffix_of("a.csv") == ".csv"
    assert "step 20" in dict(found.facts)
    assert drawn(found.whole).tables == found.table.tables
    assert alone(found.whole, 0).corrupt == found.records[0].corrupt


def test_events_are_those_of_one_table_and_others_are_passed_on(run: Path) -> None:
    models = {step: sonde.load(str(run / f"checkpoint-{step}")) for step in STEPS}
    request = SweepRequest(**ASKED, checkpoints=CheckpointAxis(run="one"))
    pause = object()

    def on(step: int, work: Any) -> Any:
        yield pause
        yield from work(models[step].backend)

    events = list(sweep_course(request, STEPS, on))
    assert [event for event in events if event is pause] == [pause] * 3
    start, *cells, summary = [event for event in events if event is not pause]
    assert isinstance(start, TableStart)
    assert isinstance(summary, TableSummary)
    assert start.cells == len(cells) == summary.timing.cells
    places = [cell.at for cell in cells if isinstance(cell, TableCell)]
    assert len(set(map(tuple, places))) == len(cells)
    assert places[0][0] == 2  # the newest comes first


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"source_run": "mine"}, "source_run is of one model"),
        ({"source": "zero", "checkpoints": {"sources_from": 10}}, "sources_from takes"),
        ({"features": {"layer": 0}, "checkpoints": {"sources_from": 10}}, "without `features`"),
    ],
)
def test_what_does_not_go_with_checkpoints_is_said(fields: dict[str, Any], says: str) -> None:
    axis = {"run": "one"} | fields.pop("checkpoints", {})
    with pytest.raises(BadRequest, match=says):
        check_course(SweepRequest(**ASKED | fields, checkpoints=axis))


def test_runs_and_steps_that_are_not_there_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownRun):
        sonde.checkpoints(tmp_path / "nowhere")
    with pytest.raises(UnknownModel, match="it has checkpoints of steps 10, 20, 30"):
        sonde.checkpoints(run, [11])
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "run.json").write_text("{}")
    with pytest.raises(BadRequest, match="has no checkpoint"):
        sonde.checkpoints(empty)
    made = Checkpoints(run)
    assert chosen_steps("one", made.layout, [30, 10, 30]) == [10, 30]
    with pytest.raises(BadRequest, match="leave it out"):
        sonde.load(str(run / "checkpoint-10")).run(made.request(SweepRequest(**ASKED)))
