"""What `sonde doctor` says of products: the CPU, what computes, the mode, and whether bits hold."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from sonde.cli import exactness
from sonde.cli.exactness import Report, computing, findings, report, show, table


@pytest.fixture(scope="module")
def measured() -> Report:
    """What a child finds on this machine."""
    found = report()
    assert isinstance(found, Report), found
    return found


def trial(kind: str, *, holds: bool, shape: str = "8→8") -> dict[str, Any]:
    return {"kind": kind, "dtype": "float32", "shape": shape, "holds": holds}


SOUND = Report("AVX-512", None, None, "AVX512,STRICT", None, [trial("linear", holds=True)])
UNSOUND = replace(SOUND, trials=[*SOUND.trials, trial("attention", holds=False)])


def finding(name: str, found: Report | str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(exactness, "report", lambda: found)
    return next(each for each in findings() if each.name == name)


def test_a_child_tells_everything_about_this_machine(measured: Report) -> None:
    assert measured.mode
    assert measured.onednn is not None
    assert {each["dtype"] for each in measured.trials} == {"float32", "bfloat16"}
    assert all(each["holds"] for each in measured.trials if each["dtype"] == "float32")


def test_a_checkup_names_cpu_sets_cap_mode_and_bits(
    measured: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exactness, "report", lambda: measured)
    cpu, products, bits = findings()

    assert (cpu.name, cpu.state, products.state) == ("cpu", "ok", "ok")
    assert measured.mode in products.said
    assert "cap" in products.said
    assert bits.name == "bits"


def test_a_cap_is_shown_with_its_reason() -> None:
    capped = replace(SOUND, cap="AVX512_CORE_FP16", died_of="SIGILL")
    assert "capped at AVX512_CORE_FP16" in computing(capped)
    assert "die of SIGILL" in computing(capped)
    assert "no cap" in computing(SOUND)
    assert "no oneDNN" in computing(replace(SOUND, onednn=None))


def test_bits_that_depend_on_the_rows_beside_are_told_and_no_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = finding("bits", UNSOUND, monkeypatch)
    assert (found.state, found.said) == (
        "optional", "depend on the rows beside them in 1 product of 2",
    )  # fmt: skip
    assert "--exactness" in found.remedy
    assert finding("bits", SOUND, monkeypatch).state == "ok"


def test_a_mode_that_was_not_to_be_had_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = finding("bits", replace(SOUND, why_not="import sonde first"), monkeypatch)
    assert (found.state, found.remedy) == ("optional", "import sonde first")


def test_a_child_that_dies_is_a_broken_line(monkeypatch: pytest.MonkeyPatch) -> None:
    found = finding("products", "products could not be tried: status -4", monkeypatch)
    assert found.state == "broken"


def test_without_torch_there_is_a_cpu_and_nothing_to_multiply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert [each.name for each in findings()] == ["cpu"]


def test_every_kind_has_a_line_and_failing_shapes_are_named() -> None:
    many = [trial("attention", holds=False, shape=f"shape {i}") for i in range(6)]
    good, bad = table(replace(SOUND, trials=[*SOUND.trials, *many]))

    assert good.startswith("  ✓  float32   linear ")
    assert good.endswith(" batch-invariant, 1 of 1 shape")
    assert bad.strip().startswith("✗  float32   attention")
    assert bad.endswith("shape 0; shape 1; shape 2; shape 3 and 2 more")


def test_the_status_says_whether_all_hold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exactness, "report", lambda: SOUND)
    assert show(as_json=False) == 0
    monkeypatch.setattr(exactness, "report", lambda: replace(UNSOUND, why_not="do this"))
    assert show(as_json=False) == 1
    assert capsys.readouterr().out.endswith("→ do this\n")
    assert show(as_json=True) == 1
    assert json.loads(capsys.readouterr().out)["mode"] == "AVX512,STRICT"
    monkeypatch.setattr(exactness, "report", lambda: "products could not be tried: no")
    assert show(as_json=True) == 1


@pytest.mark.parametrize(
    ("end", "said"),
    [("import os; os.kill(os.getpid(), 4)", "status -4"), ("raise OSError('no')", "OSError: no")],
)
def test_how_a_child_ended_is_said(end: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = subprocess.run

    def other(_program: object, **options: Any) -> Any:
        return run([sys.executable, "-c", end], **options)

    monkeypatch.setattr(subprocess, "run", other)
    assert report() == f"products could not be tried: {said}"


def test_a_child_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exactness, "SECONDS", 0.01)
    assert "timed out" in str(report())
