"""`PatchStudy` for code without `await`: scripts, notebooks, the prompt.

study = SyncPatchStudy(model="smollm2", base_url="http://127.0.0.1:8091/v1")
result = study.sweep_layers_positions("The Colosseum is in the city of", …, server_side=True)

Every method waits, also inside a notebook, whose event loop is already running. An interrupt while
it waits stops what it waits for. `on_cell` and `on_event` are called on another thread.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sonde.client.blocking import iterate, wait_for
from sonde.client.study import PatchStudy
from sonde.client.vectors import pack_vectors

P = ParamSpec("P")
T = TypeVar("T")


def _waiting(
    method: Callable[Concatenate[PatchStudy, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["SyncPatchStudy", P], T]:
    @wraps(method)
    def call(self: "SyncPatchStudy", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return wait_for(method(self.study, *args, **kwargs))

    return call


def _iterating(
    method: Callable[Concatenate[PatchStudy, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate["SyncPatchStudy", P], Iterator[T]]:
    @wraps(method)
    def call(self: "SyncPatchStudy", /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return iterate(method(self.study, *args, **kwargs))

    return call


class SyncPatchStudy:
    """One model on one server, waited for."""

    pack_vectors = staticmethod(pack_vectors)

    def __init__(self, **options: Any) -> None:
        """The same options as `PatchStudy`."""
        self.study = PatchStudy(**options)
        self.capture_clean = self.study.capture_clean
        self.drop_run = self.study.drop_run

    positions_for = _waiting(PatchStudy.positions_for)
    sweep_layers_positions = _waiting(PatchStudy.sweep_layers_positions)
    zoom = _waiting(PatchStudy.zoom)
    ablation_sweep = _waiting(PatchStudy.ablation_sweep)
    capabilities = _waiting(PatchStudy.capabilities)
    models = _waiting(PatchStudy.models)
    run = _waiting(PatchStudy.run)
    attend = _waiting(PatchStudy.attend)
    estimate = _waiting(PatchStudy.estimate)
    tokens = _waiting(PatchStudy.tokens)
    start = _waiting(PatchStudy.start)
    events = _iterating(PatchStudy.events)
    cancel = _waiting(PatchStudy.cancel)
    history = _waiting(PatchStudy.history)
    record = _waiting(PatchStudy.record)
    remark = _waiting(PatchStudy.remark)
    forget = _waiting(PatchStudy.forget)
    runs = _waiting(PatchStudy.runs)
