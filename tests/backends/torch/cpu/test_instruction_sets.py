"""A CPU that ends processes at a low-precision product: found out in a child, capped, and told."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sonde.backends.torch.cpu import instruction_sets
from sonde.backends.torch.cpu.instruction_sets import CAPS, VARIABLE, Tried
from tests.children import python
from tests.tiny_model import save_tiny_model

DEADLY = """
import os, signal
if os.environ.get("ONEDNN_MAX_CPU_ISA") not in {survivors!r}:
    os.kill(os.getpid(), signal.SIGILL)  # as the kernel does at an instruction it does not allow
"""
RUN = """
import json, os, pathlib, sys
from sonde.backends.torch.cpu import instruction_sets
instruction_sets.TRIAL = pathlib.Path({trial!r})
{before}
import sonde
model = sonde.load({model!r}, dtype={dtype!r}, device="cpu")
result = model.sweep(
    clean="The Eiffel Tower is in the city of", corrupt="The Colosseum is in the city of",
    answer=" Paris", positions=[0, 6],
)
print(json.dumps([model.describe().dtype, result.grids["post_block"].shape, result.noise_floor,
                  os.environ.get("ONEDNN_MAX_CPU_ISA")]))
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine was found to be is found again."""
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)
    instruction_sets.tried.cache_clear()


def deadly(folder: Path, *survivors: str) -> Path:
    """A trial that dies unless oneDNN is capped at one of `survivors`."""
    trial = folder / "deadly.py"
    trial.write_text(DEADLY.format(survivors=survivors))
    return trial


def run(trial: Path, model: Path, dtype: str = "bfloat16", before: str = "") -> Any:
    return python("-c", RUN.format(trial=str(trial), model=str(model), dtype=dtype, before=before))


def test_a_model_in_bfloat16_loads_and_sweeps_where_its_products_die(
    tmp_path: Path, tiny: Path
) -> None:
    """A hypervisor that advertises AMX and forbids it: one line says what was done."""
    done = run(deadly(tmp_path, *CAPS), tiny)

    assert done.returncode == 0, done.stderr
    dtype, shape, noise, cap = json.loads(done.stdout)
    assert (dtype, shape, cap) == ("bfloat16", [2, 2], "AVX512_CORE_FP16")
    assert noise is not None
    assert done.stderr.strip() == (
        "low-precision products end a process on this CPU (SIGILL): "
        "oneDNN is capped at AVX512_CORE_FP16 in this one"
    )


@pytest.mark.slow
def test_float32_pays_nothing_and_changes_nothing(tmp_path: Path, tiny: Path) -> None:
    done = run(deadly(tmp_path), tiny, dtype="float32")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[-1] is None
    assert done.stderr == ""


@pytest.mark.slow
def test_where_no_cap_helps_the_model_is_refused_and_the_process_lives(
    tmp_path: Path, tiny: Path
) -> None:
    done = run(deadly(tmp_path), tiny)

    assert done.returncode == 1
    line = done.stderr.strip().splitlines()[-1]
    assert "EngineError: low-precision products end a process" in line
    assert "dtype='float32'" in line


@pytest.mark.slow
def test_a_cap_that_comes_too_late_is_an_error_and_not_a_death(tmp_path: Path, tiny: Path) -> None:
    """With oneDNN used before, a fork of the process dies of the product in its place."""
    before = (
        "import signal\nfrom sonde.backends.torch.cpu import low_precision\n"
        "low_precision.multiply = lambda: os.kill(os.getpid(), signal.SIGILL)"
    )
    done = run(deadly(tmp_path, *CAPS), tiny, before=before)

    assert done.returncode == 1
    line = done.stderr.strip().splitlines()[-1]
    assert "used before it could be capped" in line
    assert f"{VARIABLE}=AVX512_CORE_FP16" in line


def test_the_highest_cap_that_helps_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instruction_sets, "TRIAL", deadly(tmp_path, "AVX2", "AVX512_CORE"))
    assert instruction_sets.tried() == Tried("SIGILL", "AVX512_CORE")


def test_what_was_found_is_kept_until_the_next_boot_and_for_the_same_surroundings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instruction_sets, "TRIAL", deadly(tmp_path, *CAPS))
    found = instruction_sets.tried()
    instruction_sets.tried.cache_clear()
    monkeypatch.setattr(instruction_sets, "_try", lambda: Tried(None, None))
    assert instruction_sets.tried() == found == Tried("SIGILL", CAPS[0])

    here = instruction_sets._kept_at()
    boot = tmp_path / "boot_id"
    boot.write_text("another boot")
    assert instruction_sets._kept_at(boot) not in (None, here)
    assert instruction_sets._kept_at(tmp_path / "none") is None
    monkeypatch.setenv(VARIABLE, "AVX2")
    assert instruction_sets._kept_at() != here


@pytest.mark.parametrize("content", ["", "[]", '{"died": 1}'])
def test_what_was_kept_badly_is_tried_again(content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = instruction_sets._kept_at()
    assert place is not None
    place.parent.mkdir(parents=True)
    place.write_text(content)
    monkeypatch.setattr(instruction_sets, "_try", lambda: Tried(None, None))
    assert instruction_sets.tried() == Tried(None, None)
    assert json.loads(place.read_text()) == {"died_of": None, "cap": None}


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").touch()
    monkeypatch.setattr(instruction_sets, "_try", lambda: Tried(None, None))
    assert instruction_sets.tried() == Tried(None, None)


@pytest.mark.slow
def test_where_amx_is_claimed_float32_caps_for_what_may_follow(tmp_path: Path, tiny: Path) -> None:
    """The first use of oneDNN is the float32 model's, and the cap is read only then."""
    before = (
        "instruction_sets.cpu = lambda: instruction_sets.Cpu('Xeon', ('AMX',))\n"
        f"import sonde; sonde.load({str(tiny)!r}, dtype='float32', device='cpu')"
    )
    done = run(deadly(tmp_path, *CAPS), tiny, before=before)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[-1] == "AVX512_CORE_FP16"
    assert len(done.stderr.strip().splitlines()) == 1


def test_here_products_live_as_they_are() -> None:
    """In the real trial, on the machine of the tests; capped if it has to be."""
    found = instruction_sets.tried()
    assert found.died_of is None or found.cap in CAPS


@pytest.mark.parametrize(
    "end", ["raise SystemExit(3)", "import os, signal; os.kill(os.getpid(), 9)"]
)
def test_a_trial_that_fails_in_another_way_proves_nothing(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = tmp_path / "odd.py"
    trial.write_text(end)
    monkeypatch.setattr(instruction_sets, "TRIAL", trial)
    assert instruction_sets.tried() == Tried(None, None)


def test_a_trial_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = tmp_path / "hanging.py"
    trial.write_text("import time; time.sleep(600)")
    monkeypatch.setattr(instruction_sets, "TRIAL", trial)
    monkeypatch.setattr(instruction_sets, "TRIAL_SECONDS", 0.2)
    assert instruction_sets.tried() == Tried(None, None)


def test_a_fork_that_hangs_counts_as_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    from sonde.backends.torch.cpu import low_precision

    monkeypatch.setattr(low_precision, "multiply", lambda: time.sleep(600))
    monkeypatch.setattr(instruction_sets, "FORK_SECONDS", 0.2)
    assert not instruction_sets.lives_here()


def test_a_fork_of_this_process_can_multiply() -> None:
    assert instruction_sets.lives_here()


def test_who_inherits_a_cap_keeps_other_kernels_from_amx(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    names = ("_is_amx_tile_supported", "_is_amx_fp16_supported")
    for name in names:
        monkeypatch.setattr(torch.cpu, name, lambda: True)
    monkeypatch.setitem(os.environ, VARIABLE, "ALL")
    instruction_sets.follow_cap()
    assert all(getattr(torch.cpu, name)() for name in names)
    monkeypatch.setitem(os.environ, VARIABLE, CAPS[0])
    instruction_sets.follow_cap()
    assert not any(getattr(torch.cpu, name)() for name in names)


def test_the_cpu_is_named_with_the_sets_that_matter(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text(
        "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Some Xeon\n"
        "flags\t\t: fpu avx2 avx512f amx_tile amx_bf16\n\nprocessor\t: 1\nmodel\t: 1\n"
    )
    found = instruction_sets.cpu(info)

    assert found.name == "Some Xeon (family 6, model 207)"
    assert found.sets == ("AVX2", "AVX-512", "AMX", "AMX bfloat16")


def test_a_system_that_does_not_tell_is_named_as_far_as_it_is_known(tmp_path: Path) -> None:
    found = instruction_sets.cpu(tmp_path / "none")
    assert found.name
    assert found.sets == ()
