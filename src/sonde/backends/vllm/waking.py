"""Wake the threads that wait for an engine that has died.

vLLM's client of an engine in another process notes its death, and refuses what is asked after that.
What was asked before is left waiting for ever: a call on the ranks always, a step when the engine
was killed too hard to say goodbye. So the note is looked at, and what waits is ended with it.
"""

import time
from threading import Thread
from typing import Any, Final

EVERY_SECONDS: Final = 0.5


def wake_on_death(client: Any) -> None:
    """From now on, end what waits for this engine client once its engine is dead."""
    if getattr(client, "resources", None) is None:
        return  # the engine is in this process
    parts = (client.resources, client.utility_results, client.outputs_queue)  # not the client:
    Thread(target=_watch, args=parts, name="sonde-waking", daemon=True).start()  # it may be freed


def _watch(resources: Any, calls: dict[Any, Any], outputs: Any) -> None:
    while not resources.engine_dead:
        time.sleep(EVERY_SECONDS)
    wake(calls, outputs)


def wake(calls: dict[Any, Any], outputs: Any) -> None:
    """End the calls that wait for a reply, and the step that waits for outputs."""
    from vllm.v1.engine.exceptions import EngineDeadError

    for waiting in list(calls.values()):
        if not waiting.done():
            waiting.set_exception(EngineDeadError())
    outputs.put_nowait(EngineDeadError())
