"""Which row of a step is which position of which request, in either of vLLM's model runners.

vLLM lays the tokens of a step end to end in the runner's own order. The request in place i owns
the rows between two offsets, and its first row holds the position after those computed already;
one rule for prefill, chunks of a prefill and decoding. All that depends on the runners' insides is
in this file and in `eager`.
"""

from collections.abc import Sequence
from functools import wraps
from typing import Any, Literal, Protocol

from sonde.backends.vllm.requests import Span

Runner = Literal["V1", "V2"]


class Watcher(Protocol):
    """Hears of a rank's steps."""

    def arriving(self, scheduled: Any) -> None:
        """Requests come and go with the scheduler's word."""
        ...

    def stepping(self, spans: list[Span]) -> None:
        """The model is about to run on these rows."""
        ...

    def stepped(self) -> None:
        """The step is over, however it ended."""
        ...


def kind_of(runner: Any) -> Runner:
    """Which of the two model runners this is."""
    return "V2" if hasattr(runner, "req_states") else "V1"


def spans(requests: Sequence[str], offsets: Sequence[int], computed: Sequence[int]) -> list[Span]:
    """The spans of a step: offsets has one entry more than there are requests."""
    return [
        Span(request, int(offsets[i]), int(offsets[i + 1]) - int(offsets[i]), int(computed[i]))
        for i, request in enumerate(requests)
    ]


def spans_v1(runner: Any) -> list[Span]:
    """Of the step whose inputs the V1 runner has just prepared."""
    batch = runner.input_batch
    return spans(
        batch.req_ids[: batch.num_reqs], runner.query_start_loc.np, batch.num_computed_tokens_cpu
    )


def spans_v2(batch: Any) -> list[Span]:
    """Of the batch that the V2 runner has just prepared."""
    return spans(batch.req_ids, batch.query_start_loc_np, batch.num_computed_tokens_np)


def watch(runner: Any, watcher: Watcher) -> None:
    """Tell the watcher of every step of this runner."""
    kind = kind_of(runner)
    seam = {"V1": "_model_forward", "V2": "prepare_inputs"}[kind]
    execute, inner = runner.execute_model, getattr(runner, seam)

    @wraps(execute)
    def executed(scheduled: Any, *args: Any, **kwargs: Any) -> Any:
        watcher.arriving(scheduled)
        try:
            return execute(scheduled, *args, **kwargs)
        finally:
            watcher.stepped()

    @wraps(inner)
    def forward(*args: Any, **kwargs: Any) -> Any:
        watcher.stepping(spans_v1(runner))
        return inner(*args, **kwargs)

    @wraps(inner)
    def prepared(*args: Any, **kwargs: Any) -> Any:
        batch = inner(*args, **kwargs)
        watcher.stepping(spans_v2(batch))
        return batch

    runner.execute_model = executed
    setattr(runner, seam, forward if kind == "V1" else prepared)


def arrivals(scheduled: Any) -> list[tuple[str, Any]]:
    """New requests and their sampling parameters, from the scheduler's word."""
    return [(new.req_id, new.sampling_params) for new in scheduled.scheduled_new_reqs]
