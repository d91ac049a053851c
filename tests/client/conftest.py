"""A real server on a tiny model, for the whole session, and a study that talks to it."""

from collections.abc import Iterator

import pytest

from sonde.client import PatchStudy
from tests.client.canned import Canned, canned_server
from tests.tiny_model import tiny_llama

CLEAN = "The Eiffel Tower is in the city of"
CORRUPT = "The Colosseum is in the city of"


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`http://127.0.0.1:…`, without `/v1`."""
    from sonde.server.serving import assemble, running_server
    from tests.backends.torch.tiny import backend_of

    parts = assemble(backend_of(tiny_llama(layers=4)), tmp_path_factory.mktemp("history"))
    with running_server(parts) as address:
        yield address


@pytest.fixture
def study(url: str) -> PatchStudy:
    return PatchStudy(model="tiny", base_url=f"{url}/v1")


@pytest.fixture
def canned() -> Iterator[Canned]:
    with canned_server() as server:
        yield server


@pytest.fixture
def canned_study(canned: Canned) -> PatchStudy:
    return PatchStudy(model="tiny", base_url=f"{canned.url}/v1")
