"""Eager on demand: compiled graphs for ordinary traffic, plain modules for steps with a spec.

Compiled graphs do not call module hooks, and nothing says so: patches would silently do nothing.
So where compilation is on, a step that carries a spec is run eagerly, and all others are not. The
choice is made from what the scheduler sends to every rank, so the ranks agree.
"""

from collections.abc import Callable
from typing import Any


def this_step() -> None:
    """Tell the compiled wrapper, and the graphs inside it, to stand aside in the coming forward."""
    from vllm.config import CUDAGraphMode
    from vllm.forward_context import get_forward_context, is_forward_context_available

    if is_forward_context_available():
        context = get_forward_context()
        context.skip_compiled = True
        context.cudagraph_runtime_mode = CUDAGraphMode.NONE


def steps_of_v2(runner: Any, wanted: Callable[[], bool]) -> None:
    """From now on the V2 runner takes steps for which `wanted()` holds eagerly.

    It can replay a whole graph without calling the model, so it is also asked for an eager batch.
    """
    from vllm.v1.worker.gpu import model_runner

    dispatch = model_runner.dispatch_cg_and_sync_dp

    def dispatched(*args: Any, **kwargs: Any) -> Any:
        return dispatch(*args, **(kwargs | {"need_eager": True} if wanted() else kwargs))

    def before(_module: Any, _args: Any) -> None:
        if wanted():
            this_step()

    model_runner.dispatch_cg_and_sync_dp = dispatched
    runner.get_model().register_forward_pre_hook(before)
