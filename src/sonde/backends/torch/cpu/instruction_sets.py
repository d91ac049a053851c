"""No process of ours dies of an instruction that this CPU only claims to have.

A hypervisor may advertise AMX and not let it run. oneDNN believes what is advertised, and the first
bfloat16 product ends the process with an illegal instruction and without a word. So before a model
in low precision is loaded on a CPU:

1. **Try.**  A child process multiplies once in each low-precision dtype.
2. **Cap.**  If a signal ends it, more children try with less and less that oneDNN may use.
3. **Set.**  The first cap under which a child lives becomes this process's own, and is logged.
4. **See.**  oneDNN reads its cap once, at its first use. Whether that was before is found out by a
   fork of this process, which multiplies; if that dies too, loading is an error.

Models in float32 are not concerned and pay nothing, unless the CPU claims AMX: then the first use
of oneDNN is theirs, and a model in low precision may follow. What was found is kept on disk until
the next boot, so that it costs seconds once. Imports torch only where it is used.
"""

import hashlib
import json
import logging
import os
import platform
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from sonde.backends.torch.loading.model_cache import cache_dir
from sonde.errors import EngineError

VARIABLE: Final = "ONEDNN_MAX_CPU_ISA"
CAPS: Final = ("AVX512_CORE_FP16", "AVX512_CORE", "AVX2")
"""Most first. The first one leaves out AMX and nothing else."""
TRIAL: Final = Path(__file__).with_name("low_precision.py")
TRIAL_SECONDS: Final = 120.0
FORK_SECONDS: Final = 30.0

FATAL: Final = tuple(
    number
    for name in ("SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGTRAP", "SIGABRT")
    if (number := getattr(signal, name, None)) is not None
)
"""What a processor's refusal may look like; a child that somebody killed proves nothing."""
AMX: Final = "AMX"
WINDOWS_ILLEGAL_INSTRUCTION: Final = 0xC000001D

SHOWN: Final = {
    "avx2": "AVX2", "avx512f": "AVX-512", "avx512_bf16": "AVX-512 bfloat16",
    "avx512_fp16": "AVX-512 float16", "amx_tile": AMX, "amx_bf16": "AMX bfloat16",
    "amx_fp16": "AMX float16", "asimd": "NEON", "bf16": "bfloat16", "sve": "SVE", "sve2": "SVE2",
    "sme": "SME",
}  # fmt: skip
"""Flags of /proc/cpuinfo that decide which kernels multiply, and their names."""

log = logging.getLogger("sonde")


@dataclass(frozen=True)
class Cpu:
    """What the CPU says of itself."""

    name: str
    sets: tuple[str, ...]
    """Instruction sets that matter for products; empty where the system does not tell."""


@dataclass(frozen=True)
class Tried:
    """What came of multiplying in a child."""

    died_of: str | None
    """The signal, without a cap; None where it lived."""
    cap: str | None
    """The first cap under which it lived; None where none was needed, or where none helped."""


def cpu(info: Path = Path("/proc/cpuinfo")) -> Cpu:
    """The processor of this machine."""
    facts: dict[str, str] = {}
    if info.is_file():
        lines = (line.partition(":") for line in info.read_text().splitlines())
        for key, _, value in lines:
            facts.setdefault(key.strip().lower(), value.strip())
    flags = (facts.get("flags") or facts.get("features") or "").split()
    kind = [facts[part] for part in ("cpu family", "model") if part in facts]
    name = facts.get("model name") or platform.processor() or platform.machine()
    which = f" (family {kind[0]}, model {kind[1]})" if len(kind) == 2 else ""
    return Cpu(name + which, tuple(shown for flag, shown in SHOWN.items() if flag in flags))


def make_safe(*, low: bool) -> None:
    """Before a model is loaded on a CPU: cap oneDNN if low-precision products would be deadly.

    `low` says that the model itself is in low precision: then what cannot be capped is an error.
    """
    if not low and AMX not in cpu().sets:
        return
    found = tried()
    if found.died_of is None:
        follow_cap()
        return
    if found.cap is not None:
        _cap(found)
    what = _what(found)
    if low and found.cap is None:
        raise EngineError(
            f"{what}, whatever {VARIABLE} is: load the model with dtype='float32', or on a GPU"
        )
    if low and not lives_here():
        raise EngineError(
            f"{what}, and oneDNN was used before it could be capped: start again with "
            f"{VARIABLE}={found.cap} set, or load this model before any other"
        )


@cache
def tried() -> Tried:
    """What comes of multiplying on this machine: as kept since it was booted, or tried now."""
    place = _kept_at()
    try:
        if place is not None:
            return Tried(**json.loads(place.read_text()))
    except (OSError, ValueError, TypeError):
        pass  # never tried here, or not by this version
    found = _try()
    if place is not None:
        _keep(place, found)
    return found


def _try() -> Tried:
    """Multiply in children: as things are, and if that is deadly under each cap in turn."""
    died_of = _died_of(None)
    if died_of is None:
        return Tried(None, None)
    return Tried(died_of, next((cap for cap in CAPS if _died_of(cap) is None), None))


def _kept_at(boot: Path = Path("/proc/sys/kernel/random/boot_id")) -> Path | None:
    """Where the outcome is kept: for this boot, torch, trial and environment, and no other."""
    try:
        booted = boot.read_text()
    except OSError:
        return None  # then a moved disk or a new hypervisor would not be noticed
    known = [booted, version("torch"), TRIAL.read_text(), os.environ.get(VARIABLE), cpu()]
    digest = hashlib.sha256(repr(known).encode()).hexdigest()[:16]
    return cache_dir() / "products" / f"{digest}.json"


def _keep(place: Path, found: Tried) -> None:
    """Written beside its place and renamed; a cache that cannot be written is done without."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished = place.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(asdict(found)))
        unfinished.replace(place)
    except OSError as error:
        log.debug("what low-precision products do here is not kept: %s", error)


@cache
def _cap(found: Tried) -> None:
    """Set the cap, and say so; once."""
    assert found.cap is not None
    os.environ[VARIABLE] = found.cap
    _hide_amx()
    log.warning("%s: oneDNN is capped at %s in this one", _what(found), found.cap)


def _what(found: Tried) -> str:
    return f"low-precision products end a process on this CPU ({found.died_of})"


def follow_cap() -> None:
    """In a process that inherited a cap: keep others than oneDNN from AMX too."""
    if os.environ.get(VARIABLE) in CAPS:
        _hide_amx()


def lives_here() -> bool:
    """Whether a fork of this process, with all that it has read and used, outlives a product.

    No answer within `FORK_SECONDS` counts as no.
    """
    if not hasattr(os, "fork"):
        return True
    from sonde.backends.torch.cpu.low_precision import multiply

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of forks beside threads: it only exits
        child = os.fork()
    if child == 0:
        try:
            multiply()
        finally:
            os._exit(0)
    until = time.monotonic() + FORK_SECONDS
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return not os.WIFSIGNALED(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _died_of(cap: str | None) -> str | None:
    """The signal that ended a child which multiplied; None where nothing of that kind did."""
    environment = {**os.environ, **({} if cap is None else {VARIABLE: cap})}
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(TRIAL)], env=environment, capture_output=True,
            timeout=TRIAL_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        log.warning("low-precision products could not be tried in a child process: %s", error)
        return None
    if done.returncode == WINDOWS_ILLEGAL_INSTRUCTION:
        return "illegal instruction"
    return signal.Signals(-done.returncode).name if -done.returncode in FATAL else None


def _hide_amx() -> None:
    """Kernels beside oneDNN's, vLLM's among them, ask torch whether there is AMX."""
    import torch

    for name in ("_is_amx_tile_supported", "_is_amx_fp16_supported"):
        if hasattr(torch.cpu, name):
            setattr(torch.cpu, name, _no)


def _no() -> bool:
    return False
