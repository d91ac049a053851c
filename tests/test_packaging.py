"""The wheel holds what Sonde needs and nothing else, and works where there is no torch."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import httpx
import pytest
from packaging.requirements import Requirement

import sonde

ROOT = Path(__file__).parents[1]
INDEX = "src/sonde/server/ui/index.html"


def build(copy: Path, kind: str) -> Path:
    """`python -m build` of a tree, without asking a package index for anything."""
    program = [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", str(copy)]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    [made] = (copy / "dist").iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made from a copy, so that nothing here touches the tree, and with its interface or a page."""
    copy = tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "ui/hatch_build.py"):
        (copy / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "src" / "left_by_someone.log").touch()
    if not (copy / INDEX).exists():
        (copy / INDEX).parent.mkdir(parents=True)
        (copy / INDEX).write_text("<!doctype html><title>Sonde</title>")
    return build(copy, "wheel")


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel and what it always needs: no torch."""
    home = tmp_path_factory.mktemp("bare") / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *options, str(wheel)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [site] = (home / "lib").glob("python*/site-packages")
    for name in needed("sonde"):
        lend(name, site)
    return home / "bin"


def needed(name: str) -> set[str]:
    """The distributions that one needs without any extra, and those that these need."""
    found: set[str] = set()
    todo = [name]
    while todo:
        for line in metadata.requires(todo.pop()) or ():
            requirement = Requirement(line)
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if applies and requirement.name not in found:
                found.add(requirement.name)
                todo.append(requirement.name)
    return found


def lend(name: str, site: Path) -> None:
    """Make a distribution of this environment visible in another."""
    distribution = metadata.distribution(name)
    for part in {path.parts[0] for path in distribution.files or ()} - {"..", "__pycache__"}:
        if not (site / part).exists():
            (site / part).symlink_to(str(distribution.locate_file(part)))


@contextmanager
def served(bare: Path, home: Path) -> Iterator[str]:
    """`sonde serve` without a model, and its address."""
    program = [str(bare / "sonde"), "serve", "--port", "0", "--output-dir", str(home)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment(home)) as own:
        try:
            assert own.stdout is not None
            greeting = own.stdout.readline()
            found = re.search(r"http://[\d.:]+", greeting)
            assert found, greeting
            yield found[0]
        finally:
            own.terminate()
        assert own.wait(30) == 0


def environment(home: Path) -> dict[str, str]:
    """An empty home, and no path to this checkout."""
    return {"HOME": str(home), "PATH": os.defpath, "AEGIR_GATEWAY_PORT": "0"}


def run(bare: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [str(bare / "sonde"), *arguments]
    return subprocess.run(
        program, cwd=home, env=environment(home), capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
def test_the_wheel_holds_interface_autoencoders_and_catalog_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = {info.filename: info.file_size for info in opened.infolist()}
        packed = {info.filename: info.compress_size for info in opened.infolist()}
    assert wheel.name == f"sonde-{sonde.__version__}-py3-none-any.whl"
    assert "sonde/server/ui/index.html" in names
    assert "sonde/training/rewards/catalog_data/catalog.json" in names
    shipped = "sonde/sae/shipped/smollm2"
    for layer in (0, 7, 15, 21):
        assert names[f"{shipped}/layer_{layer}/autoencoder.safetensors"] > 4_000_000
        assert names[f"{shipped}/layer_{layer}/features.jsonl.xz"] > 100_000
    assert sum(size for name, size in packed.items() if name.startswith(shipped)) < 60_000_000
    assert {name.partition("/")[0] for name in names} == {
        "sonde",
        f"sonde-{sonde.__version__}.dist-info",
    }
    assert sum(packed.values()) < 70_000_000


@pytest.mark.slow
def test_an_environment_without_torch_can_serve_and_be_checked(bare: Path, tmp_path: Path) -> None:
    python = subprocess.run([str(bare / "python"), "-c", "import torch"], capture_output=True)
    assert b"No module named 'torch'" in python.stderr
    assert run(bare, tmp_path, "--version").stdout == f"sonde {sonde.__version__}\n"
    assert "sweep" in run(bare, tmp_path, "--help").stdout

    checked = run(bare, tmp_path, "doctor")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "–  engine" in checked.stdout
    assert "✓  interface" in checked.stdout

    with served(bare, tmp_path) as url:
        assert httpx.get(f"{url}/health").json() == {"status": "ok"}
        assert "<title>Sonde</title>" in httpx.get(url).text

    refused = run(bare, tmp_path, "sweep", "--pair", "eiffel")
    assert refused.returncode == 2
    assert "pip install 'sonde[engine]'" in refused.stderr


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    import_module("hatchling.builders.hooks.plugin.interface")
    spec = spec_from_file_location("hatch_build", ROOT / "ui" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_interface_is_built_again_only_when_a_source_is_newer(
    hook: ModuleType, tmp_path: Path
) -> None:
    (source := tmp_path / "ui" / "src" / "main.tsx").parent.mkdir(parents=True)
    source.touch()
    assert not hook.is_current(tmp_path)
    (built := tmp_path / INDEX).parent.mkdir(parents=True)
    built.touch()
    os.utime(source, (1000, 1000))
    assert hook.is_current(tmp_path)
    os.utime(built, (999, 999))
    assert not hook.is_current(tmp_path)


def test_packages_of_the_interface_that_are_installed_are_left_alone(
    hook: ModuleType, tmp_path: Path
) -> None:
    assert [command[0] for command in hook.commands(tmp_path)] == ["ci", "run"]
    (tmp_path / "ui" / "node_modules").mkdir(parents=True)
    assert [command[0] for command in hook.commands(tmp_path)] == ["run"]


def test_every_place_says_the_same_version() -> None:
    version = sonde.__version__
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()
