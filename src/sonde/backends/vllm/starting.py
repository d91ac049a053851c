"""A limit on how long an engine may take to start.

Workers meet before an engine is there, and wait for one another without a word. One that was never
started, was given other arguments or another environment, or looks for the head at another address
keeps all of them waiting for ever. After the limit the processes that were begun are ended, and the
error says what to look at.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sonde.errors import EngineError

START_SECONDS: Final = 1800.0
"""Half an hour: as long as the weights of a very large model may take from a slow disk."""


@contextmanager
def time_limit(seconds: float, *, nodes: int) -> Iterator[None]:
    """Raise when the block takes longer, whatever it was waiting for.

    What waits in it is woken by the end of the processes that it has begun, and of theirs.
    """
    from psutil import Process

    here = Process()
    before, late = set(here.children(recursive=True)), threading.Event()

    def give_up() -> None:
        late.set()
        for process in set(here.children(recursive=True)) - before:
            process.kill()

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    except BaseException as error:
        if late.is_set():
            raise _too_long(seconds, nodes) from error
        raise
    finally:
        timer.cancel()


def _too_long(seconds: float, nodes: int) -> EngineError:
    likely = "raise the limit, engine option start_seconds, if the model is only large"
    if nodes > 1:
        likely = (
            f"see that all {nodes} nodes were started, with the same arguments but for the rank, "
            "the same VLLM_ environment variables (VLLM_CPU_KVCACHE_SPACE, say) and a head address "
            f"and port that they can reach; {likely}"
        )
    return EngineError(f"vLLM has not started within {seconds:g} seconds; {likely}")
