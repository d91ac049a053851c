"""MKL's reproducible mode: asked for in time, in any order of imports, or it is said."""

import json
from pathlib import Path

import pytest

from sonde.backends.torch.cpu import reproducible
from sonde.backends.torch.cpu.reproducible import ASKED, VARIABLE, ask, name_of, settle
from tests.children import intel_pretence, python

MULTIPLY = "import torch; torch.ones(64, 64) @ torch.ones(64, 64)\n"
SAY = (
    "import json, os\nfrom sonde.backends.torch.cpu.reproducible import settle\n"
    "mode = settle(); print(json.dumps([mode.name, mode.why_not]))"
)


def said(program: str, **extra: str) -> tuple[str, str | None]:
    done = python("-c", program + SAY, extra=extra)
    assert done.returncode == 0, done.stderr
    name, why_not = json.loads(done.stdout)
    return name, why_not


def has_mkl() -> bool:
    import torch

    return bool(torch.backends.mkl.is_available())


SLOW = pytest.mark.slow
needs_mkl = pytest.mark.skipif(not has_mkl(), reason="this torch has no MKL")


def test_what_somebody_has_set_stays() -> None:
    empty: dict[str, str] = {}
    ask(empty)
    chosen = {VARIABLE: "COMPATIBLE"}
    ask(chosen)

    assert (empty, chosen) == ({VARIABLE: ASKED}, {VARIABLE: "COMPATIBLE"})


@pytest.mark.parametrize(
    ("mode", "name"),
    [(0, "off"), (1, "off"), (2, "AUTO"), (0x10002, "AUTO,STRICT"), (0x1000C, "AVX512,STRICT")],
)
def test_a_mode_is_named_as_the_variable_spells_it(mode: int, name: str) -> None:
    assert name_of(mode) == name


@needs_mkl
def test_the_tests_themselves_run_in_the_strict_mode() -> None:
    """And so does any process that imports Sonde before torch multiplies."""
    mode = settle()

    assert mode.name.endswith(",STRICT")
    assert mode.why_not is None


@needs_mkl
@pytest.mark.parametrize(
    "before", [f"import sonde; {MULTIPLY}", pytest.param("import torch, sonde\n", marks=SLOW)]
)
def test_it_is_in_time_if_sonde_is_imported_before_torch_multiplies(before: str) -> None:
    name, why_not = said(before)

    assert name.endswith(",STRICT")
    assert why_not is None


@needs_mkl
def test_it_is_too_late_after_a_product_and_that_is_said_with_what_to_do() -> None:
    name, why_not = said(MULTIPLY)

    assert name == "off"
    assert why_not is not None
    assert "import sonde first, or set MKL_CBWR=AVX512,STRICT" in why_not


@SLOW
@needs_mkl
def test_a_mode_that_somebody_chose_is_kept_and_named() -> None:
    name, why_not = said("", MKL_CBWR="COMPATIBLE")

    assert name == "COMPATIBLE"
    assert why_not is not None
    assert "MKL_CBWR=COMPATIBLE" in why_not


@SLOW
@needs_mkl
@pytest.mark.parametrize(
    ("limit", "name"), [("AVX512", "AVX512"), ("AVX2", "AVX2"), ("SSE4_2", "AUTO")]
)
def test_on_an_intel_cpu_the_best_branch_that_it_has_is_named(
    limit: str, name: str, tmp_path: Path
) -> None:
    extra = {**intel_pretence(tmp_path), "MKL_ENABLE_INSTRUCTIONS": limit}
    found, why_not = said("", **extra)
    if limit == "AVX512" and found == "AVX2,STRICT":
        pytest.skip("this CPU has no AVX-512")

    assert (found, why_not) == (f"{name},STRICT", None)


DESCRIBE = """
import json
from tests.backends.torch.tiny import tiny_backend
model = tiny_backend().describe()
print(json.dumps([model.exact, model.exact_reason]))
"""


@SLOW
@needs_mkl
def test_a_model_says_that_it_could_not_be_asked_for() -> None:
    """Whether bits hold all the same is this CPU's matter, and tested."""
    done = python("-c", MULTIPLY + DESCRIBE)
    exact, reason = json.loads(done.stdout)

    assert isinstance(exact, bool)
    assert reason.startswith("torch had multiplied before Sonde was imported")


@SLOW
@needs_mkl
def test_on_an_intel_cpu_it_is_what_makes_a_model_exact(tmp_path: Path) -> None:
    pretence = intel_pretence(tmp_path)
    with_it = json.loads(python("-c", DESCRIBE, extra=pretence).stdout)

    assert with_it == [True, None]


def test_a_torch_without_mkl_has_nothing_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.backends.mkl.is_available", lambda: False)
    assert settle() == reproducible.Mode("none: this torch has no MKL", None)


def test_a_library_that_cannot_be_asked_is_not_taken_for_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("torch.backends.mkl.is_available", lambda: True)
    monkeypatch.setattr(reproducible, "_calls", lambda: None)
    assert settle() == reproducible.Mode("asked for, and this MKL does not tell", None)
