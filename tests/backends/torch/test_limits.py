"""What other machines have, on this one: the tests of exact bits, with less than the CPU has.

Each run is a process of its own under limits of MKL's, oneDNN's and torch's instruction sets, with
MKL's kernels for this CPU or with those for Intel's. No variable asks for reproducible products
here: Sonde itself does, as for any user.
"""

from pathlib import Path

import pytest

from tests.children import intel_pretence, python

HERE = Path(__file__).parent
SUITE = (
    "cpu/test_invariance.py",
    "cpu/test_products.py",
    "packed/test_attention.py",
    "packed/test_experts.py",
    "packed/test_far.py",
    "packed/test_heads.py",
    "packed/test_joint.py",
    "packed/test_passage.py",
    "packed/test_rows.py",
    "packed/test_unembedding.py",
    "test_backend.py",
    "test_generate.py",
    "test_path.py",
)
"""Whatever computes cells."""
AVX2 = {
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
}
AVX512 = {"MKL_ENABLE_INSTRUCTIONS": "AVX512", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}
NO_AMX = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}
LIMITS = [
    ("of this CPU", "AVX2", AVX2),
    ("of this CPU", "AVX-512", AVX512),
    ("of this CPU", "no AMX", NO_AMX),
    ("of Intel", "AVX2", AVX2),
    ("of Intel", "AVX-512", AVX512),
    ("of Intel", "all there is", {}),
    ("of Intel", "a mode that a person asks for", {"MKL_CBWR": "AVX2,STRICT"}),
]
"""Whose kernels, what they may use, and how that is said. All of this CPU: the other tests."""


def run(files: tuple[str, ...], extra: dict[str, str], *options: str) -> None:
    paths = [HERE / name for name in files]
    done = python(
        "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *options, *paths, extra=extra
    )
    assert done.returncode == 0, done.stdout[-4000:]


def test_what_runs_under_limits_is_there() -> None:
    assert [name for name in SUITE if not (HERE / name).is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("maker", "extra"), [pytest.param(m, e, id=f"{m}, {name}") for m, name, e in LIMITS]
)
def test_bits_hold_with_less_than_the_cpu_has(
    maker: str, extra: dict[str, str], tmp_path: Path
) -> None:
    pretence = intel_pretence(tmp_path) if maker == "of Intel" else {}
    run(SUITE, {**extra, **pretence}, "-m", "not slow")


@pytest.mark.slow
def test_the_default_model_holds_as_on_an_intel_cpu(tmp_path: Path) -> None:
    run(("test_smollm2.py",), intel_pretence(tmp_path), "-k", "bits or noise")
