"""Loading for a command."""

import subprocess
import sys

import pytest

import sonde
from sonde.backends.torch.loading import load
from sonde.cli import loading
from sonde.cli.progress import Lines
from sonde.model import Model
from tests.scripted import Scripted


def test_without_the_engine_it_says_what_to_install() -> None:
    program = (
        "import sys\nsys.modules['torch'] = None\n"
        "from sonde.cli.main import main\nmain(['sweep', '--pair', 'eiffel'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "error: loading smollm2 (torch is not installed) needs the optional part 'engine': "
        "pip install 'sonde[engine]'\n"
    )


def test_any_other_missing_module_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'sonde.nowhere'", name="sonde.nowhere")

    monkeypatch.setattr(sonde, "load", broken)
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        loading.load_model("smollm2", Lines())


def test_a_model_in_this_process_needs_no_unloading_and_an_engine_is_closed() -> None:
    closed: list[str] = []

    class Engine(Scripted):
        def close(self) -> None:
            closed.append("closed")

    loading.unload(Model(Scripted()))
    loading.unload(Model(Engine()))
    assert closed == ["closed"]


def test_the_dtypes_offered_are_those_that_load() -> None:
    assert set(loading.DTYPES) == set(load.DTYPES)
