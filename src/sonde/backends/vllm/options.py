"""Engine arguments: what this backend sets, what it passes through, and what it refuses.

Refused is what would make the rows of a step something else than positions of requests, so that a
patch would land on the wrong row, or on none.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sonde.errors import BadRequest

EXTENSION = "sonde.backends.vllm.worker.SondeWorker"
SCHEDULER = "sonde.backends.vllm.scheduler.SharingScheduler"
ASYNC_SCHEDULER = "sonde.backends.vllm.scheduler.SharingAsyncScheduler"
BLOCK = 32
"""Tokens of a cache block on a CPU, where vLLM's own 128 would share little of short prompts."""

OURS = ("model", "worker_extension_cls", "skip_tokenizer_init", "max_logprobs", "enforce_eager")
REFUSED: Mapping[str, tuple[Any, str]] = {
    "speculative_config": (None, "speculative decoding computes positions that may be undone"),
    "prefill_context_parallel_size": (1, "context parallelism cuts prompts over ranks"),
    "decode_context_parallel_size": (1, "context parallelism cuts prompts over ranks"),
    "enable_dbo": (False, "dual-batch overlap runs a step in two halves"),
    "data_parallel_size": (1, "with data parallelism a source run would be on one replica only"),
    "enable_lora": (False, "adapters are merged when a model is loaded: name their directory"),
}
"""Option -> what it may be, and why nothing else."""


def engine_arguments(
    directory: Path,
    *,
    dtype: str | None,
    tensor_parallel_size: int,
    pipeline_parallel_size: int,
    eager_on_demand: bool,
    on_cpu: bool,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Arguments of vLLM's engine; `options` are the caller's own, passed through."""
    for name in options:
        if name in OURS:
            raise BadRequest(f"engine option {name!r} is set by Sonde itself; leave it out")
    for name, (allowed, why) in REFUSED.items():
        if name in options and options[name] != allowed:
            raise BadRequest(
                f"engine option {name}={options[name]!r} cannot be used with patches: {why}"
            )
    return {
        **({"block_size": BLOCK} if on_cpu else {}),
        "disable_log_stats": True,
        **options,
        "model": str(directory),
        "dtype": dtype or ("float32" if on_cpu else "auto"),
        "tensor_parallel_size": tensor_parallel_size,
        "pipeline_parallel_size": pipeline_parallel_size,
        "enforce_eager": not eager_on_demand,
        "worker_extension_cls": EXTENSION,
        "skip_tokenizer_init": True,
        "max_logprobs": -1,
    }


def refuse_shards(config: Any) -> None:
    """Refuse a residual stream that is cut over ranks, which vLLM may choose by itself."""
    if getattr(config.compilation_config.pass_config, "enable_sp", False):
        raise BadRequest(
            "vLLM's sequence parallelism cuts the residual stream over ranks, and a patch needs it "
            "whole; turn it off: compilation_config={'pass_config': {'enable_sp': False}}"
        )


def choose_scheduler(config: Any) -> bool:
    """Put our scheduler in, unless the caller has one. -> whether ours is in."""
    schedule = config.scheduler_config
    if schedule.scheduler_cls is not None:
        return False
    schedule.scheduler_cls = ASYNC_SCHEDULER if schedule.async_scheduling else SCHEDULER
    return True


def thread_binding(cores: Sequence[int], workers: int) -> str:
    """Cores for each worker on a CPU, as vLLM reads them: "0|1", or in turns when they are few.

    vLLM's own choice leaves a core out for the engine, and has none to give when there are more
    workers than cores.
    """
    if workers > len(cores):
        return "|".join(str(cores[i * len(cores) // workers]) for i in range(workers))
    share = len(cores) // workers
    return "|".join(
        ",".join(str(core) for core in cores[i * share : (i + 1) * share]) for i in range(workers)
    )
