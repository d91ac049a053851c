"""What the engine is started with, and what it may not be."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sonde.backends.vllm.options import (
    ASYNC_SCHEDULER,
    REFUSED,
    SCHEDULER,
    choose_scheduler,
    engine_arguments,
    refuse_shards,
    thread_binding,
)
from sonde.errors import BadRequest


def arguments(on_cpu: bool = True, eager_on_demand: bool = False, **options: Any) -> dict[str, Any]:
    return engine_arguments(
        Path("/m"),
        dtype=None,
        tensor_parallel_size=2,
        pipeline_parallel_size=3,
        eager_on_demand=eager_on_demand,
        on_cpu=on_cpu,
        options=options,
    )


def test_hooks_need_eager_steps_so_that_is_the_default() -> None:
    assert arguments()["enforce_eager"] is True
    assert arguments(eager_on_demand=True)["enforce_eager"] is False


def test_options_are_passed_through_and_the_callers_win_where_they_may() -> None:
    made = arguments(max_model_len=512, block_size=16)
    assert (made["max_model_len"], made["block_size"]) == (512, 16)
    assert (made["tensor_parallel_size"], made["pipeline_parallel_size"]) == (2, 3)


def test_a_cpu_computes_in_float32_and_shares_small_blocks() -> None:
    assert (arguments()["dtype"], arguments()["block_size"]) == ("float32", 32)
    gpu = arguments(on_cpu=False)
    assert gpu["dtype"] == "auto"
    assert "block_size" not in gpu


def test_what_sonde_sets_itself_cannot_be_set() -> None:
    with pytest.raises(BadRequest, match="'enforce_eager'"):
        arguments(enforce_eager=False)


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_move_rows_is_refused_with_the_reason(name: str) -> None:
    allowed, why = REFUSED[name]
    assert arguments(**{name: allowed})[name] == allowed
    with pytest.raises(BadRequest, match=f"{name}=.*{why[:20]}"):
        arguments(**dict[str, Any]({name: 2}))


def config(scheduler: str | None = None, *, asynchronous: bool, sharded: bool = False) -> Any:
    return SimpleNamespace(
        scheduler_config=SimpleNamespace(scheduler_cls=scheduler, async_scheduling=asynchronous),
        compilation_config=SimpleNamespace(pass_config=SimpleNamespace(enable_sp=sharded)),
    )


def test_our_scheduler_goes_in_unless_the_caller_has_one() -> None:
    for asynchronous, expected in ((False, SCHEDULER), (True, ASYNC_SCHEDULER)):
        made = config(asynchronous=asynchronous)
        assert choose_scheduler(made)
        assert made.scheduler_config.scheduler_cls == expected
    own = config("their.Scheduler", asynchronous=False)
    assert not choose_scheduler(own)
    assert own.scheduler_config.scheduler_cls == "their.Scheduler"


def test_a_stream_cut_over_ranks_is_refused() -> None:
    refuse_shards(config(asynchronous=False))
    with pytest.raises(BadRequest, match="enable_sp"):
        refuse_shards(config(asynchronous=False, sharded=True))


def test_workers_share_the_cores_there_are() -> None:
    assert thread_binding([0, 1], 2) == "0|1"
    assert thread_binding([0, 1], 3) == "0|0|1"
    assert thread_binding([0, 1], 6) == "0|0|0|1|1|1"
    assert thread_binding([4, 5, 6, 7], 2) == "4,5|6,7"
