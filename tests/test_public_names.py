"""What `import sonde` gives: a list, and no torch."""

import subprocess
import sys
from types import ModuleType

import sonde


def test_the_public_names_are_exactly_what_can_be_imported() -> None:
    importable = {
        name
        for name, value in vars(sonde).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert importable == set(sonde.__all__)
    assert len(sonde.__all__) == len(set(sonde.__all__))


def test_importing_sonde_imports_nothing_heavy() -> None:
    heavy = {"torch", "transformers", "matplotlib", "rich"}
    program = f"import sys, sonde; sys.exit(', '.join({heavy} & set(sys.modules)) or None)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
