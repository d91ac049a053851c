"""Fresh processes that tests start: with another environment, on another CPU, or to die."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRETENCE = (
    "int mkl_serv_intel_cpu_true(void) { return 1; }\nint mkl_serv_intel_cpu(void) { return 1; }"
)


def surroundings(extra: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment as a person has it, and more; None takes a variable out."""
    ours = ("MKL_CBWR", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS", "ATEN_CPU_CAPABILITY")
    kept = {k: v for k, v in os.environ.items() if k not in ours and not k.startswith("PYTEST_")}
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    given = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **(extra or {})}
    return {name: value for name, value in {**kept, **given}.items() if value is not None}


def python(
    *arguments: object, extra: Mapping[str, str | None] | None = None, timeout: float = 1100
) -> "subprocess.CompletedProcess[str]":
    """Python, in an environment of its own."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)], env=surroundings(extra), cwd=ROOT,
        capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


def intel_pretence(folder: Path) -> dict[str, str]:
    """Variables under which MKL takes this CPU for one of Intel's, and uses the kernels for those.

    On any x86 CPU with AVX-512 those run; without the reproducible mode their bits depend on the
    batch. MKL asks a function of its own who made the CPU, and a library loaded before answers.
    """
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler on Linux")
    source, library = folder / "intel.c", folder / "intel.so"
    source.write_text(PRETENCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return {"LD_PRELOAD": str(library)}
