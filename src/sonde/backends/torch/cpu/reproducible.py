"""MKL's reproducible mode, asked for before MKL is first used.

On an x86 CPU torch's ordinary float32 products are MKL's. By default MKL picks a kernel by shape
and by what the CPU has, and on some CPUs the kernels of small products add in different orders: a
row's bits then depend on the rows beside it, padded or not. In its strict reproducible mode they do
not.

MKL reads its mode once, at its first product. So importing Sonde asks through the environment: that
works before torch is imported, and in processes started from here. Loading a model asks again by
MKL's own call, which tells what came of it: a branch that the CPU lacks is refused there, and the
next best is asked for, where the variable would get AUTO. After MKL's first product it is too late
for either, and `Mode.why_not` says so.

What anybody else has put into the variable stays. Whether bits hold is not concluded from the mode,
but tested on each model that is loaded (see `path`).
"""

import ctypes
import os
import sys
from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

VARIABLE: Final = "MKL_CBWR"
ASKED: Final = "AVX512,STRICT"
"""Where the CPU lacks AVX-512, MKL takes it for AUTO,STRICT."""

STRICT: Final = 0x10000
AUTO, AVX2, AVX512 = 2, 10, 12
WANTED: Final = (AVX512 | STRICT, AVX2 | STRICT, AUTO | STRICT)
"""Best first. MKL knows branches by name on Intel's CPUs only; on others there is AUTO."""
BRANCHES: Final = {
    AUTO: "AUTO", 3: "COMPATIBLE", 4: "SSE2", 6: "SSSE3", 7: "SSE4_1", 8: "SSE4_2", 9: "AVX",
    AVX2: "AVX2", 11: "AVX512_MIC", AVX512: "AVX512", 13: "AVX512_MIC_E1", 14: "AVX512_E1",
}  # fmt: skip
"""Numbers of MKL's header."""
EVERYTHING: Final = -1
"""Asks for the branch together with its flags."""
NAMES: Final = (
    ("mkl_serv_cbwr_set", "mkl_serv_cbwr_get"),  # inside torch's own library
    ("MKL_CBWR_Set", "MKL_CBWR_Get"),  # a library beside it
)


@dataclass(frozen=True)
class Mode:
    """How MKL computes in this process."""

    name: str
    """As MKL's variable spells it: AVX512,STRICT. Or what there is instead, in words."""
    why_not: str | None
    """Why it is known not to be the strict one, and what to do; None otherwise."""


def ask(environment: MutableMapping[str, str] = os.environ) -> None:
    """Ask through the environment, before MKL's first use; a value that is there stays."""
    environment.setdefault(VARIABLE, ASKED)


def settle() -> Mode:
    """Ask by MKL's own call, where it is not too late, and say which mode it is in."""
    import torch

    if not torch.backends.mkl.is_available():  # type: ignore[no-untyped-call]
        return Mode("none: this torch has no MKL", None)
    found = _calls()
    if found is None:
        return Mode("asked for, and this MKL does not tell", None)
    set_mode, get_mode = found
    if os.environ.get(VARIABLE, ASKED) == ASKED:
        for wanted in WANTED:
            if set_mode(wanted) == 0:
                break
    mode = get_mode(EVERYTHING)
    return Mode(name_of(mode), _why_not(mode))


def name_of(mode: int) -> str:
    """As MKL's variable spells it."""
    branch = BRANCHES.get(mode & ~STRICT, "off")
    return f"{branch},STRICT" if mode & STRICT else branch


def _why_not(mode: int) -> str | None:
    if mode & STRICT:
        return None
    given = os.environ.get(VARIABLE, ASKED)
    if given != ASKED:
        return f"the environment sets {VARIABLE}={given}: leave it out, or set it to {ASKED}"
    return (
        "torch had multiplied before Sonde was imported, too late for MKL's reproducible mode: "
        f"import sonde first, or set {VARIABLE}={ASKED}"
    )


@cache
def _calls() -> tuple[Any, Any] | None:
    """MKL's functions that set and get the mode; None where they cannot be reached."""
    library = _library()
    for names in NAMES:
        if library is not None and all(hasattr(library, name) for name in names):
            functions = tuple(getattr(library, name) for name in names)
            for function in functions:
                function.argtypes, function.restype = [ctypes.c_int], ctypes.c_int
            return functions[0], functions[1]
    return None


def _library() -> ctypes.CDLL | None:
    """Torch's own, which holds MKL or is linked to it."""
    import torch

    name = {"win32": "torch_cpu.dll", "darwin": "libtorch_cpu.dylib"}
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    try:
        return ctypes.CDLL(os.path.join(folder, name.get(sys.platform, "libtorch_cpu.so")))
    except OSError:
        return None
