"""What the bits of a number may depend on beside the study: versions, processor, threads."""

import platform
from importlib.metadata import version

from sonde.backends.torch.cpu.instruction_sets import cpu
from sonde.results.provenance import versions
from sonde.schema.study import Environment


def environment(device: str) -> Environment:
    """That of this process, whose model is on that device."""
    import torch

    processor = cpu()
    kind = device
    if device.startswith("cuda"):
        kind = f"{device.partition(':')[0]}: {torch.cuda.get_device_name(device)}"
    return Environment(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        cpu=processor.name,
        instruction_sets=list(processor.sets),
        threads=torch.get_num_threads(),
        device=kind,
        versions={**versions(), "numpy": version("numpy")},
    )


def differences(there: Environment, here: Environment) -> list[str]:
    """What is not the same, each with both values."""
    out = []
    for name in Environment.model_fields:
        before, now = getattr(there, name), getattr(here, name)
        if isinstance(before, dict):
            for key in sorted({*before, *now}):
                if before.get(key) != now.get(key):
                    out.append(f"{key} was {before.get(key)} and is {now.get(key)}")
        elif before != now:
            out.append(f"{name.replace('_', ' ')} was {before} and is {now}")
    return out
