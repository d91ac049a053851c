"""`sonde.study.on_ray`: two workers, one of them killed, end in the table of one process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.errors import MissingExtra
from sonde.study import conduct
from sonde.study.on_ray import RayCrew
from sonde.study.worker import Worker
from tests.programs import PATIENCE
from tests.study.tiny_study import tiny_study

ON_RAY = """
import os, re, signal, sys
from functools import partial
from pathlib import Path
from sonde.study import conduct, read_study
from sonde.study.conduct import Watcher
from sonde.study.on_ray import RayCrew

said = []

class Killer(Watcher):
    heard = 0
    def done(self, event):
        self.heard += 1
        if self.heard == 5 and sys.argv[3] == "worker":
            os.kill(int(re.search(r"process (\\d+)", said[0])[1]), signal.SIGKILL)
        if self.heard == 12 and sys.argv[3] == "driver":
            os.kill(os.getpid(), signal.SIGKILL)

crew = partial(RayCrew, "local", say=said.append, workers=2)
outcome = conduct(read_study(sys.argv[1]), Path(sys.argv[2]), crew, Killer())
print(outcome.computed, sum("died" in line for line in said))
"""


def on_ray(study: Path, out: Path, kill: str) -> "subprocess.CompletedProcess[str]":
    program = [sys.executable, "-c", ON_RAY, str(study), str(out), kill]
    environment = {**os.environ, "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    return subprocess.run(
        program, capture_output=True, text=True, timeout=PATIENCE, env=environment, check=False
    )


def last(done: "subprocess.CompletedProcess[str]") -> list[str]:
    """The last line, in words: before it Ray may have printed."""
    return done.stdout.splitlines()[-1].split() if done.stdout else []


@pytest.mark.slow
def test_a_killed_worker_and_a_killed_driver_change_no_bit(tmp_path: Path) -> None:
    study = tiny_study(tmp_path, n=40)
    alone = conduct(study, tmp_path / "alone", Worker)
    one_died = on_ray(study.path, tmp_path / "worker", "worker")
    assert last(one_died) == ["40", "1"], one_died.stderr
    killed = on_ray(study.path, tmp_path / "driver", "driver")
    assert killed.returncode == -9, killed.stderr
    went_on = on_ray(study.path, tmp_path / "driver", "nobody")
    assert last(went_on) == ["28", "0"], went_on.stderr
    for out in ("worker", "driver"):
        table = (tmp_path / out / "table.csv").read_bytes()
        assert table == (alone.directory / "table.csv").read_bytes()
        assert alone.numbers in (tmp_path / out / "study.json").read_text()


def test_where_ray_is_not_installed_the_way_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tiny_study(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sonde\[ray\]'"):
        RayCrew("auto", study.model, study.request(study.pairs()), lambda line: None)
