"""A gateway says that it lives, and that it stops."""

from pathlib import Path

import pytest

from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.app import create_gateway
from sonde.server.parts import Gateway
from tests.server.talking import client_of


@pytest.mark.anyio
async def test_a_gateway_lives_is_ready_counts_and_stops(tmp_path: Path) -> None:
    hub = Hub(RunLayout(tmp_path))
    async with client_of(create_gateway(Gateway(hub))) as http:
        assert (await http.get("/health")).json() == {"status": "ok"}
        assert (await http.get("/ready")).json() == {"ready": True, "reason": None}
        assert "sonde_requests_total" in (await http.get("/metrics")).text
        assert "/api/p5/sae/stream" in (await http.get("/openapi.json")).json()["paths"]
        assert (await http.get("/docs")).status_code == 200
        for path in ("/v1/models", "/v1/patch_sweep"):
            answer = await http.get(path)
            assert answer.status_code == 404
            assert "sonde serve --model" in answer.text
        assert (await http.post("/v1/completions", json={})).status_code == 404
        assert (await http.delete("/v1/patch_source/a")).status_code == 404
        assert not any("/v1" in path for path in (await http.get("/openapi.json")).json()["paths"])
        hub.stop()
        answer = await http.get("/ready")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)
