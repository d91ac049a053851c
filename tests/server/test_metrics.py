"""What Prometheus reads."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from sonde.server.app import create_app
from sonde.server.metrics import CONTENT_TYPE, Metrics, exposition
from sonde.server.parts import Parts
from tests.scripted import Scripted
from tests.server.talking import SWEEP, client_of, parts_over

Samples = dict[tuple[str, str], float]


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Parts]:
    with parts_over(Scripted(), tmp_path) as parts:
        yield parts


def samples(text: str) -> Samples:
    """Value by name and labels."""
    return {
        (sample.name, ",".join(sample.labels[key] for key in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def scraped(http: httpx.AsyncClient) -> Samples:
    answer = await http.get("/metrics")
    assert answer.headers["content-type"] == CONTENT_TYPE
    return samples(answer.text)


@pytest.mark.anyio
async def test_sweeps_cells_requests_queues_and_runs_are_counted(parts: Parts) -> None:
    parts.backend.capture("kept", [1, 2], ["post_block"], [0], [0])
    async with client_of(create_app(parts)) as http:
        await http.post("/v1/patch_sweep", json=SWEEP)
        await http.post("/v1/patch_sweep", json=SWEEP | {"positions": [99]})
        await http.post("/v1/patch_sweep", json=SWEEP | {"layer": 1})
        parts.metrics.generated(3)
        found = await scraped(http)
    assert found["sonde_sweeps_total", "finished"] == 1
    assert found["sonde_sweeps_total", "failed"] == 1
    assert found["sonde_sweeps_total", "cancelled"] == 0
    assert found["sonde_cells_total", ""] == 16
    assert found["sonde_generated_tokens_total", ""] == 3
    assert found["sonde_requests_total", "POST,/v1/patch_sweep,200"] == 1
    assert found["sonde_requests_total", "POST,/v1/patch_sweep,400"] == 2
    assert found["sonde_request_seconds_count", "POST,/v1/patch_sweep"] == 3
    assert found["sonde_jobs_active", "sweep"] == found["sonde_jobs_waiting", "call"] == 0
    assert found["sonde_source_runs", ""] == 1
    assert found["sonde_source_run_bytes", ""] == 1
    assert found["sonde_source_run_budget_bytes", ""] == parts.backend.source_budget()


def test_two_servers_in_one_process_do_not_add_up(parts: Parts, tmp_path: Path) -> None:
    with parts_over(Scripted(), tmp_path / "other") as other:
        parts.metrics.generated(5)
        found = samples(exposition(other).decode())
    assert found["sonde_generated_tokens_total", ""] == 0


def test_methods_that_people_make_up_do_not_make_up_labels() -> None:
    metrics = Metrics()
    for method in ("BREW", "WHEN"):
        metrics.request("(none)", method, 405, 0.1)
    labels = {"route": "(none)", "method": "other", "status": "405"}
    assert metrics.registry.get_sample_value("sonde_requests_total", labels) == 2
