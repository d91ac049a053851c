"""Several processes: `sonde train` starts itself again, once for each.

Accelerate launches the presets that are sharded over GPUs (FSDP), torch's own launcher the rest.
Each process decides the same plan from the same command line; only the first one writes.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from sonde.training.plan import Plan
from sonde.training.stopping import stoppable

FSDP: Final = (
    "--use_fsdp",
    "--fsdp_version=2",
    "--fsdp_auto_wrap_policy=TRANSFORMER_BASED_WRAP",
    "--fsdp_reshard_after_forward=true",
    "--fsdp_state_dict_type=FULL_STATE_DICT",
    "--fsdp_cpu_ram_efficient_loading=false",
)


def needs_launch(plan: Plan, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether more than one process is wanted and this is not one of them yet."""
    return plan.processes > 1 and "LOCAL_RANK" not in environ


def command(plan: Plan, arguments: Sequence[str]) -> list[str]:
    """The command line that starts all processes."""
    return [*_launcher(plan), "-m", "sonde", "train", *arguments]


def environment(plan: Plan, environ: Mapping[str, str], threads: int) -> dict[str, str]:
    """What the processes are told besides: threads for each, and the CPU where that is meant."""
    told = {"OMP_NUM_THREADS": str(threads)}
    if plan.preset.gpus == 0:
        told["ACCELERATE_USE_CPU"] = "true"
    return {**environ, **told}


def run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Start all processes and wait for their end. -> the exit status

    They are a group of their own: a Ctrl-C comes to this process alone, and is passed on once.
    """
    with stoppable():
        started = subprocess.Popen(command, env=dict(environ), process_group=0)
        try:
            return started.wait()
        except KeyboardInterrupt:
            started.terminate()
            started.wait()
            raise


def rank(environ: Mapping[str, str] = os.environ) -> int:
    """Which process this is; 0 where there is only one."""
    return int(environ.get("RANK", "0"))


def _launcher(plan: Plan) -> list[str]:
    if plan.preset.strategy == "fsdp":
        precision = "bf16" if plan.recipe.dtype == "bfloat16" else "no"
        return [
            sys.executable,
            "-m",
            "accelerate.commands.launch",
            "--num_machines=1",
            f"--num_processes={plan.processes}",
            f"--mixed_precision={precision}",
            "--dynamo_backend=no",
            *FSDP,
        ]
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc_per_node={plan.processes}",
    ]
