"""`sonde.study.conduct`: a study ends in the same table however often it is killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.engine.pairs import PairEvent
from sonde.errors import BadRequest
from sonde.results.pairs import PairSweep
from sonde.study import Outcome, StudyFile, conduct, read_study
from sonde.study.conduct import Watcher
from sonde.study.directory import DONE, RESULTS
from sonde.study.environment import differences, environment
from sonde.study.worker import Begun, Worker, number_of
from tests.study.tiny_study import TOML, tiny_study, write_pairs
from tests.tiny_model import save_tiny_model

KILLED = """
import os, signal, sys
from pathlib import Path
from sonde.study import conduct, read_study
from sonde.study.conduct import Watcher
from sonde.study.worker import Worker

class Killer(Watcher):
    heard = 0
    def done(self, event):
        self.heard += 1
        if self.heard == 30:
            os.kill(os.getpid(), signal.SIGKILL)

conduct(read_study(sys.argv[1]), Path(sys.argv[2]), Worker, Killer())
"""


class Counter(Watcher):
    """Which pairs were computed."""

    def __init__(self) -> None:
        self.begun_with: Begun | None = None
        self.numbers: list[int] = []

    def begun(self, begun: Begun, left: int, again: bool) -> None:
        self.begun_with = begun

    def done(self, event: PairEvent) -> None:
        self.numbers.append(number_of(event))


def run(study: StudyFile, out: Path, watcher: Watcher | None = None) -> Outcome:
    return conduct(study, out, Worker, watcher)


def test_a_study_killed_at_30_percent_goes_on_and_ends_in_the_same_table(tmp_path: Path) -> None:
    study = tiny_study(tmp_path, n=100)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    done = subprocess.run([sys.executable, "-c", KILLED, str(study.path), str(killed)], check=False)
    assert done.returncode == -signal.SIGKILL
    lines = (killed / DONE).read_bytes()
    assert lines.count(b"\n") == 30
    (killed / DONE).write_bytes(lines + lines[:100])  # and it died in the middle of a line
    rest = Counter()
    outcome = run(study, killed, rest)
    first = run(study, whole)
    assert (outcome.computed, len(rest.numbers), len(set(rest.numbers))) == (70, 70, 70)
    assert outcome.numbers == first.numbers
    for name in ("table.csv", "table.tex", "pairs.jsonl"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name
    assert (killed / DONE).read_bytes().count(b"\n") == 100


def test_the_directory_holds_results_that_say_where_they_come_from(tmp_path: Path) -> None:
    study = tiny_study(tmp_path)
    outcome = run(study, study.directory)
    for name in RESULTS:
        assert (study.directory / name).stat().st_size > 0
    assert isinstance(outcome.sweep, PairSweep)
    assert outcome.sweep.settings.resamples == 200
    record = (study.directory / "study.json").read_text()
    for part in (study.sha256, study.pairs().digest, '"complete"', outcome.numbers, "torch"):
        assert part in record


def test_the_numbers_are_those_of_one_sweep_in_python(tmp_path: Path) -> None:
    study = tiny_study(tmp_path)
    outcome = run(study, study.directory)
    model = Worker(study.model, study.request(study.pairs())).model
    plain = model.run(study.request(study.pairs()))
    assert isinstance(plain, PairSweep)
    assert plain.per_pair["z"].tobytes() == outcome.sweep.per_pair["z"].tobytes()


def test_run_again_it_gives_the_same_bits(tmp_path: Path) -> None:
    study = tiny_study(tmp_path)
    first = run(study, study.directory)
    table = (study.directory / "table.csv").read_bytes()
    again = run(study, study.directory)
    assert (first.differs, again.differs, again.computed) == (None, [], 12)
    assert again.numbers == first.numbers
    assert (study.directory / "table.csv").read_bytes() == table
    assert not (study.directory / "again.jsonl").exists()


def test_a_study_killed_before_its_results_were_written_makes_them_of_its_lines(
    tmp_path: Path,
) -> None:
    study = tiny_study(tmp_path)
    first = run(study, study.directory)
    record, table = study.directory / "study.json", study.directory / "table.csv"
    before = table.read_bytes()
    record.write_text(record.read_text().replace('"complete"', '"begun"'))
    table.unlink()
    outcome = run(study, study.directory)
    assert (outcome.computed, outcome.numbers) == (0, first.numbers)
    assert table.read_bytes() == before


def test_run_again_on_other_weights_it_says_so_and_keeps_its_results(tmp_path: Path) -> None:
    study = tiny_study(tmp_path)
    run(study, study.directory)
    table = (study.directory / "table.csv").read_bytes()
    save_tiny_model(tmp_path / "model", seed=1)
    again = run(study, study.directory)
    assert again.differs is not None
    weights, numbers = again.differs
    assert weights.startswith("weights were ")
    assert numbers.startswith("numbers differ in 12 pairs: 96 values, by ")
    assert (study.directory / "table.csv").read_bytes() == table


def test_a_directory_of_other_weights_is_not_gone_on_with(tmp_path: Path) -> None:
    study = tiny_study(tmp_path, n=40)
    program = [sys.executable, "-c", KILLED, str(study.path), str(study.directory)]
    subprocess.run(program, check=False)
    save_tiny_model(tmp_path / "model", seed=1)
    with pytest.raises(BadRequest, match="has 30 pairs of the weights"):
        run(study, study.directory)


def test_a_directory_of_another_study_is_refused_by_what_differs(tmp_path: Path) -> None:
    study = tiny_study(tmp_path)
    run(study, study.directory)
    other = tmp_path / "other.toml"
    other.write_text(TOML.replace('"logit_diff"', '"logprob"'))
    with pytest.raises(BadRequest, match=r"another study \(small.toml\): sweep.metric is 'logit"):
        run(read_study(other), study.directory)
    write_pairs(tmp_path / "pairs.jsonl", 13)
    with pytest.raises(BadRequest, match="made with other pairs: 12 with digest"):
        run(study, study.directory)
    with pytest.raises(BadRequest, match=r"holds 'config.json' and no study"):
        run(study, tmp_path / "model")


def test_clusters_can_be_left_out_of_the_statistics(tmp_path: Path) -> None:
    study = tiny_study(tmp_path, toml=TOML + "clusters = false\n")
    assert run(study, study.directory).sweep.clusters is None


def test_environments_are_told_apart_by_what_is_in_them() -> None:
    here = environment("cpu")
    assert differences(here, here) == []
    there = here.model_copy(update={"threads": 77, "versions": {**here.versions, "torch": "1.0"}})
    threads, torch = differences(there, here)
    assert threads == f"threads was 77 and is {here.threads}"
    assert torch == f"torch was 1.0 and is {here.versions['torch']}"
