"""A sweep over many pairs, killed in the middle of it, goes on where it was."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.contract.asking import stream_lines, strict
from tests.server.process import serve
from tests.tiny_model import save_tiny_model

pytestmark = pytest.mark.slow

GENERAL = "/v1/sweeps"
NAMES = ["Eiffel", "Colosseum", "Mary", "John", "store", "drink", "Rome", "Paris", "city", "went"]
PAIRS = [
    {
        "clean": f"The {a} {b} is in", "corrupt": f"The {b} {a} is in",
        "answer": " Paris", "foil": " Rome", "cluster": a,
    }
    for a in NAMES for b in NAMES if a != b
]  # fmt: skip
BODY: dict[str, Any] = {
    "pairs": PAIRS, "hooks": ["z"], "metric": "recovered", "layers": [0, 1] * 40,
    "drop_wrong": False,
}  # fmt: skip


def test_killed_at_a_third_and_started_again_it_computes_only_what_is_missing(
    tmp_path: Path,
) -> None:
    model, data, log = save_tiny_model(tmp_path / "model"), tmp_path / "data", tmp_path / "log"
    known: set[int] = set()
    asked = BODY | {"stream": True}
    with (
        serve(model, data, log) as first,
        first.http.stream("POST", GENERAL, json=asked) as answer,
    ):
        sweep = answer.headers["x-sweep-id"]
        lines = stream_lines(answer)
        assert strict(next(lines))["type"] == "start"
        while len(known) < len(PAIRS) * 3 // 10:
            known.add(strict(next(lines))["record"]["pair"])
        first.kill()
        with pytest.raises(httpx.TransportError):
            list(lines)
    with serve(model, data, log) as second:
        entry = second.http.get(f"{GENERAL}/{sweep}").json()
        assert entry["state"] == "interrupted"
        refused = second.http.post(GENERAL, json={"resume": sweep, "hooks": ["z"]})
        assert refused.status_code == 400
        assert "hooks does not go with `resume`" in refused.text
        resumed = second.http.post(GENERAL, json={"resume": sweep})
        assert resumed.status_code == 200, resumed.text
        found = resumed.json()
        fresh = second.http.post(GENERAL, json=BODY).json()
        for name in ("tables", "pairs", "corrupt", "clean", "noise_floor"):
            assert found[name] == fresh[name]
        a_pair = fresh["timing"]["computed_cells"] / len(PAIRS)
        again = found["timing"]["computed_cells"] / a_pair
        assert again <= len(PAIRS) - len(known)
        record = second.http.get(f"{GENERAL}/{resumed.headers['x-sweep-id']}").json()
        assert record["provenance"]["request"]["resume"] == sweep
        assert record["table"] == found
        done = second.http.post(GENERAL, json={"resume": resumed.headers["x-sweep-id"]})
        assert done.status_code == 400
        assert "has finished" in done.text
        csv = second.http.get(
            f"{GENERAL}/{resumed.headers['x-sweep-id']}/export", params={"format": "csv"}
        )
        assert csv.text.startswith('"hook","layer","head","metric","n","mean"')
