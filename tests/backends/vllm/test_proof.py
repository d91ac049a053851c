"""An engine that does not patch as it should is not served: each fault is found by the proof."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from sonde.backends.vllm.backend import VllmBackend
from sonde.backends.vllm.proof import RUNS, prove
from sonde.errors import EngineError
from tests.backends.vllm.tiny import on_vllm, save

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module")
def backend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmBackend]:
    with closing(on_vllm(save("llama", tmp_path_factory.mktemp("llama")))) as engine:
        yield engine


def test_a_sound_engine_passes_and_keeps_nothing_of_the_proof(backend: VllmBackend) -> None:
    prove(backend)
    assert not set(RUNS) & set(backend.manifests())


def test_taps_that_are_never_called_are_found(
    backend: VllmBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under compiled graphs."""
    monkeypatch.setattr("sonde.backends.vllm.taps.tap", lambda *_: None)
    with pytest.raises(EngineError, match=r"must not be used: 0 of \d+ sites"):
        prove(backend)


def test_writes_that_do_nothing_are_found(
    backend: VllmBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde.backends.vllm.taps.write", lambda *_: None)
    with pytest.raises(EngineError, match="must not be used: a random vector.*changed nothing"):
        prove(backend)


def test_a_stream_read_in_half_is_found(
    backend: VllmBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sonde.backends.vllm.taps.read", lambda hidden, _, rows: hidden.index_select(0, rows)
    )
    with pytest.raises(EngineError, match="must not be used: a run patched with itself"):
        prove(backend)


def test_a_cache_that_is_shared_where_it_may_not_be_is_found(
    backend: VllmBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde.backends.vllm.scheduler.keep_apart", lambda *_: None)
    with pytest.raises(EngineError, match="must not be used"):
        prove(backend)
