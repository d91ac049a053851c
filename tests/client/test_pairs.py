"""A sweep over many pairs on a server: every pair is heard, and the result is the local one."""

from pathlib import Path

import sonde
from sonde.cli.remote import RemoteModel
from sonde.request import sweep_request
from sonde.results import PairSweep
from tests.engine.test_pairs import PAIRS
from tests.server.tiny_server import LAYERS, chatting_backend, served


def test_pairs_on_a_server_are_heard_one_by_one_and_are_those_computed_here(
    tmp_path: Path,
) -> None:
    backend = chatting_backend()
    request = sweep_request(
        n_layers=LAYERS, pairs=PAIRS, hooks=["z"], metric="recovered", drop_wrong=False
    )
    heard: list[str] = []
    with served(backend, tmp_path) as server:
        remote = RemoteModel(server.url)
        assert remote.estimate(request).cells == 12 * len(PAIRS)
        found = remote.run(request, on_event=lambda event: heard.append(event.type))
        entry = server.http.get("/v1/sweeps").json()["sweeps"][0]
    assert heard == ["start", *["pair"] * len(PAIRS), "summary"]
    assert (entry["state"], entry["done"]) == ("finished", 12 * len(PAIRS))
    assert entry["provenance"]["request"]["pairs"]["count"] == len(PAIRS)
    assert isinstance(found, PairSweep)
    here = sonde.Model(backend).run(request)
    assert isinstance(here, PairSweep)
    assert found.per_pair["z"].tobytes() == here.per_pair["z"].tobytes()
