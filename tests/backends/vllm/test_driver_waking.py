"""Nobody waits for a dead engine: not for a call, not for a step."""

import queue
import signal
import threading
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

pytest.importorskip("vllm")
pytestmark = pytest.mark.vllm

from sonde.backends.vllm.driver import wake_on_death  # noqa: E402
from sonde.errors import EngineLost  # noqa: E402
from tests.backends.vllm.tiny import on_vllm, save  # noqa: E402


def test_what_waits_ends_when_the_engine_is_noted_as_dead() -> None:
    from vllm.v1.engine.exceptions import EngineDeadError

    waiting, done = Future[Any](), Future[Any]()
    done.set_result(1)
    client = SimpleNamespace(
        resources=SimpleNamespace(engine_dead=False),
        utility_results={1: waiting, 2: done},
        outputs_queue=queue.Queue[Any](),
    )
    wake_on_death(client)
    assert not waiting.done()
    client.resources.engine_dead = True
    with pytest.raises(EngineDeadError):
        waiting.result(60)
    assert isinstance(client.outputs_queue.get(timeout=60), EngineDeadError)
    assert done.result() == 1


def test_an_engine_in_this_process_needs_no_watch() -> None:
    before = threading.active_count()
    wake_on_death(SimpleNamespace())
    assert threading.active_count() == before


@pytest.mark.slow
def test_a_call_under_way_when_the_engine_is_killed_raises(tmp_path: Path) -> None:
    """The worker is stopped first, so that the call is certainly under way."""
    with closing(on_vllm(save("llama", tmp_path), in_process=False)) as backend:
        below = psutil.Process().children(recursive=True)
        engine = next(p for p in below if "EngineCore" in " ".join(p.cmdline()) or p.children())
        (worker,) = (p for p in engine.children() if "tracker" not in " ".join(p.cmdline()))
        worker.send_signal(signal.SIGSTOP)
        killing = threading.Timer(2, engine.kill)
        killing.start()
        with pytest.raises(EngineLost):
            backend.rank_manifests()
        with pytest.raises(EngineLost):
            backend.describe()
        worker.kill()
