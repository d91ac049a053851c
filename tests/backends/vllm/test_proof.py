"""An engine that does not patch as it should is not served: each fault is found by the proof."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from sonde.backends.vllm.backend import VllmBackend
from sonde.backends.vllm.proof import RUNS, prove
from sonde.backends.vllm.taps import SiteWrites, write
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


def test_heads_that_are_not_written_are_found(
    backend: VllmBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sonde.backends.vllm.taps._write_heads", lambda *_: None)
    with pytest.raises(EngineError, match="must not be used: a random vector.*at z changed nothin"):
        prove(backend)


def test_heads_that_are_written_in_part_are_found(
    backend: VllmBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here every second value that is told to be written."""

    def few(hidden: Any, residual: Any, writes: SiteWrites) -> None:
        if writes.heads is not None:
            each = (writes.rows, writes.values, writes.heads)
            rows, values, heads = (given[::2] for given in each)
            adds = None if writes.adds is None else writes.adds[::2]
            writes = replace(writes, rows=rows, values=values, heads=heads, adds=adds)
        write(hidden, residual, writes)

    monkeypatch.setattr("sonde.backends.vllm.taps.write", few)
    with pytest.raises(EngineError, match="must not be used: one prompt with all heads of another"):
        prove(backend)


def test_adding_that_sets_instead_is_found(
    backend: VllmBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sets(hidden: Any, residual: Any, writes: SiteWrites) -> None:
        write(hidden, residual, replace(writes, adds=None))

    monkeypatch.setattr("sonde.backends.vllm.taps.write", sets)
    with pytest.raises(EngineError, match="must not be used: a run with zeros added at"):
        prove(backend)


def test_adding_that_does_nothing_is_found(
    backend: VllmBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def idle(hidden: Any, residual: Any, writes: SiteWrites) -> None:
        if writes.adds is None:
            write(hidden, residual, writes)

    monkeypatch.setattr("sonde.backends.vllm.taps.write", idle)
    with pytest.raises(EngineError, match="must not be used: a random vector added.*changed noth"):
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
