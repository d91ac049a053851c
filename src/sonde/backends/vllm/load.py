"""Load a model into a vLLM engine, tap it on every rank, and try it before anybody uses it.

1. **Locate**    Turn the name into a whole checkpoint.
2. **Configure** vLLM's arguments, ours and the caller's; refuse what patches cannot live with.
3. **Start**     The engine: in this process for one worker, in processes of its own for more.
4. **Tap**       Every rank; a layer class that is not in the table is refused by name.
5. **Prove**     `proof`: an engine that fails it is closed again.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from sonde.backends.torch.cpu import instruction_sets
from sonde.backends.torch.loading.quiet import quiet
from sonde.backends.torch.loading.reasons import one_line
from sonde.backends.torch.loading.special import special_tokens
from sonde.backends.torch.loading.tokenizer import load_tokenizer
from sonde.backends.vllm.backend import VllmBackend
from sonde.backends.vllm.driver import Driver, wake_on_death
from sonde.backends.vllm.facts import facts_of
from sonde.backends.vllm.installed import check_installed
from sonde.backends.vllm.merged import whole_checkpoint
from sonde.backends.vllm.options import (
    choose_scheduler,
    engine_arguments,
    refuse_shards,
    thread_binding,
)
from sonde.backends.vllm.proof import prove
from sonde.backends.vllm.starting import START_SECONDS, time_limit
from sonde.errors import BadRequest

BINDING = "VLLM_CPU_OMP_THREADS_BIND"


def load_backend(
    name: str,
    *,
    dtype: str | None = None,
    source_budget: int = 2 * 2**30,
    tensor_parallel_size: int = 1,
    pipeline_parallel_size: int = 1,
    eager_on_demand: bool = False,
    in_process: bool | None = None,
    start_seconds: float = START_SECONDS,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | None = None,
) -> VllmBackend:
    """Load a model by any name the torch backend takes, over so many workers.

    load_backend("smollm2")
    load_backend("Qwen/Qwen3-32B", tensor_parallel_size=4, options={"max_model_len": 8192})

    `eager_on_demand` keeps compiled graphs for requests that neither patch nor capture.
    `in_process` runs the engine in this process, which is the default for one worker. An engine in
    other processes that has not started after `start_seconds` is given up. `options` are arguments
    of vLLM's engine, passed through; these three names may be among them.
    """
    say = progress or _say_nothing
    check_installed()
    given = dict(options or {})
    eager_on_demand = bool(given.pop("eager_on_demand", eager_on_demand))
    in_process = given.pop("in_process", in_process)
    start_seconds = float(given.pop("start_seconds", start_seconds))
    began = perf_counter()
    directory = whole_checkpoint(name, say)
    config = engine_config(
        directory,
        dtype=dtype,
        tensor_parallel_size=tensor_parallel_size,
        pipeline_parallel_size=pipeline_parallel_size,
        eager_on_demand=eager_on_demand,
        options=given,
    )
    salted = not choose_scheduler(config)
    say(f"starting vLLM with {name}")
    with bound_threads(config), time_limit(start_seconds, nodes=config.parallel_config.nnodes):
        engine = _engine(config, in_process)
    wake_on_death(engine.engine_core)
    driver = Driver(engine, salted=salted)
    try:
        backend = _tapped(driver, name, directory, source_budget, eager_on_demand)
        prove(backend)
    except BaseException:
        driver.close()
        raise
    say(f"loaded {name} ({dtype_of(backend)}) in {perf_counter() - began:.1f} s")
    return backend


def engine_config(
    directory: Path,
    *,
    dtype: str | None,
    tensor_parallel_size: int,
    pipeline_parallel_size: int,
    eager_on_demand: bool,
    options: Mapping[str, Any],
    headless: bool = False,
) -> Any:
    """The configuration of an engine over this checkpoint; `headless` for a machine of workers."""
    from vllm.engine.arg_utils import EngineArgs
    from vllm.platforms import current_platform

    on_cpu = current_platform.is_cpu()
    arguments = engine_arguments(
        directory,
        dtype=dtype,
        tensor_parallel_size=tensor_parallel_size,
        pipeline_parallel_size=pipeline_parallel_size,
        eager_on_demand=eager_on_demand,
        on_cpu=on_cpu,
        options=options,
    )
    try:
        config = EngineArgs(**arguments).create_engine_config(headless=headless)
    except (TypeError, ValueError) as error:
        raise BadRequest(f"vLLM refuses these engine options: {error}") from error
    refuse_shards(config)
    if on_cpu:  # workers inherit the cap
        instruction_sets.make_safe(low=config.model_config.dtype != torch.float32)
    return config


@contextmanager
def bound_threads(config: Any) -> Iterator[None]:
    """While workers start: give each its cores, on a CPU, unless the user has said which."""
    from vllm.platforms import current_platform

    workers = config.parallel_config.world_size // config.parallel_config.nnodes
    if not current_platform.is_cpu() or workers < 2 or BINDING in os.environ:
        yield
        return
    os.environ[BINDING] = thread_binding(sorted(os.sched_getaffinity(0)), workers)
    try:
        yield
    finally:
        del os.environ[BINDING]  # another engine may have another number of workers


def _engine(config: Any, in_process: bool | None) -> Any:
    from vllm.v1.engine.llm_engine import LLMEngine
    from vllm.v1.executor import Executor

    alone = config.parallel_config.world_size == 1
    here = alone if in_process is None else in_process
    if here and alone:  # else vLLM puts even a single worker on a CPU into a process of its own
        config.parallel_config.distributed_executor_backend = "uni"
    try:
        return LLMEngine(
            vllm_config=config,
            executor_class=Executor.get_class(config),
            log_stats=False,
            multiprocess_mode=not here,
        )
    except (ValueError, RuntimeError, OSError) as error:
        model = config.model_config.model
        raise BadRequest(f"vLLM cannot load {model}: {one_line(error)}") from error


def _tapped(
    driver: Driver, name: str, directory: Path, source_budget: int, eager_on_demand: bool
) -> VllmBackend:
    replies = driver.call("sonde_install", eager_on_demand)
    for reply in replies:
        if "refused" in reply:
            raise BadRequest(f"{name}: {reply['refused']}")
    with quiet():
        tokenizer = load_tokenizer(directory)
    ends = end_ids(driver.config.model_config, tokenizer)
    facts = facts_of(name, driver.config, replies, ends, special_tokens(tokenizer))
    return VllmBackend(driver, facts, tokenizer, source_budget=source_budget)


def end_ids(model: Any, tokenizer: PreTrainedTokenizerBase) -> Sequence[int]:
    """Tokens that end a completion, as the generation settings and the tokenizer name them."""
    named = model.try_get_generation_config().get("eos_token_id")
    ids = named if isinstance(named, list) else [named]
    return sorted({i for i in [*ids, tokenizer.eos_token_id] if isinstance(i, int)})


def dtype_of(backend: VllmBackend) -> str:
    """The dtype, the device and the ranks, for people."""
    model, facts = backend.describe(), backend.facts
    ranks = f", tensor {facts.shares} x pipeline {facts.stages}"
    return f"{model.dtype}, {model.device}{ranks if facts.shares * facts.stages > 1 else ''}"


def _say_nothing(_line: str) -> None:
    """Progress, when nobody asked for it."""
