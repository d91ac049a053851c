"""The trial is a program of its own: torch and nothing of Sonde."""

import torch

from sonde.backends.torch.cpu import low_precision
from tests.children import python


def test_it_runs_alone_and_says_nothing() -> None:
    program = (
        "import runpy, sys\n"
        f"runpy.run_path({low_precision.__file__!r}, run_name='__main__')\n"
        "sys.exit(' '.join(name for name in sys.modules if name.startswith('sonde')) or None)"
    )
    done = python("-P", "-c", program)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_both_dtypes_are_multiplied() -> None:
    before = torch.get_num_threads()
    low_precision.multiply()
    torch.set_num_threads(before)

    assert set(low_precision.DTYPES) == {torch.bfloat16, torch.float16}
