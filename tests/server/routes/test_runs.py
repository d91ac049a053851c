"""Lists of runs and checkpoints, and how the stream is doing."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.local import LOCAL
from tests.runs.trainer import Trainer
from tests.server.listening import Page, gateway


@pytest.fixture
def url(trainer: Trainer) -> Iterator[str]:
    with gateway(trainer.layout.directory) as url:
        yield url


def get(url: str) -> Any:
    answer = httpx.get(url, **LOCAL)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_checkpoints_are_the_contracts_rows(trainer: Trainer, url: str) -> None:
    trainer.snapshot(100, 4)
    trainer.snapshot(50, 3)
    trainer.layout.metadata(50).write_text('{"run_id": "r"}')
    directory = str(trainer.layout.directory)
    assert get(f"{url}/api/p5/runs") == {
        "rows": [
            {
                "step": 50,
                "checkpoint": "checkpoint-50",
                "metadata": {"run_id": "r"},
                "n_sae_records": 3,
                "checkpoint_dir": f"{directory}/checkpoint-50",
            },
            {
                "step": 100,
                "checkpoint": "checkpoint-100",
                "metadata": None,
                "n_sae_records": 4,
                "checkpoint_dir": f"{directory}/checkpoint-100",
            },
        ],
        "count": 2,
        "p5_dir": directory,
        "p5_dir_exists": True,
    }


def test_a_missing_directory_is_no_error(tmp_path: Path) -> None:
    with gateway(tmp_path / "absent") as url:
        assert get(f"{url}/api/p5/runs") == {
            "rows": [],
            "count": 0,
            "p5_dir": str(tmp_path / "absent"),
            "p5_dir_exists": False,
        }
        assert get(f"{url}/api/runs")["runs"] == []
        assert get(f"{url}/api/p5/health")["p5_dir_exists"] is False


def test_a_directory_that_is_a_link_is_served_under_its_own_name(
    trainer: Trainer, tmp_path: Path
) -> None:
    trainer.snapshot(50, 1)
    (tmp_path / "link").symlink_to(trainer.layout.directory)
    with gateway(tmp_path / "link") as url:
        found = get(f"{url}/api/p5/runs")
        assert found["p5_dir"] == str(tmp_path / "link")
        assert found["count"] == 1


def test_runs_below_are_listed_the_newest_first(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b", "c")):
        made = Trainer(tmp_path / name)
        made.write(1)
        os.utime(made.layout.live, (1000 + number, 1000 + number))
    with gateway(tmp_path) as url:
        found = get(f"{url}/api/runs")
        assert [row["run"] for row in found["runs"]] == ["c", "b", "a"]
        assert found["runs"][0]["missing"][0] == "run.json"
        assert get(f"{url}/api/p5/runs?run=a")["p5_dir"] == str(tmp_path / "a")
        assert httpx.get(f"{url}/api/p5/runs?run=..", **LOCAL).status_code == 404


def test_health_says_who_listens_how_far_behind_and_what_was_bad(
    trainer: Trainer, url: str
) -> None:
    trainer.write(2)
    trainer.append(b"not json\n")
    trainer.write(1)
    with Page(url) as page:
        page.has(3)
        found = get(f"{url}/api/p5/health")
        assert (found["status"], found["listeners"]) == ("ok", 1)
        [run] = found["runs"]
        assert (run["run"], run["listeners"], run["lag_bytes"]) == ("root", 1, 0)
        assert (run["notifications"], run["why_stat"]) == ("inotify", None)
        offset = len(trainer.line(0)) + len(trainer.line(1))
        assert run["bad_lines"] == 1
        assert run["first_bad_lines"] == [
            {"file": "sae_features.live.jsonl", "offset": offset, "fault": "not JSON"}
        ]
        assert (run["records_read"], run["lines_sent"]) == (3, 3)
    page.until(lambda _page: get(f"{url}/api/p5/health")["listeners"] == 0)
    assert get(f"{url}/api/p5/health")["runs"][0]["bad_lines"] == 1


def test_uptime_does_not_follow_the_wall_clock(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody set the clock back by an hour."""
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - 3600)
    assert 0 <= get(f"{url}/api/p5/health")["uptime_seconds"] < 3600
