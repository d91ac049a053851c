"""Builds the interface into the wheel, so that installing it needs no Node.

An editable install leaves it alone: `make ui` builds it there. Where the tree has a build that is
as new as its sources, as in a source distribution, nothing is done.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class InterfaceBuild(BuildHookInterface[Any]):
    """Runs before the wheel's files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, unless there is a build."""
        root = Path(self.root)
        if version == "editable" or is_current(root):
            return
        npm = shutil.which("npm")
        if npm is None:
            self.app.display_warning(
                "no npm found: this wheel's page at / is missing or older than its sources. "
                "Install Node 20.19 or newer."
            )
            return
        for command in commands(root):
            subprocess.run([npm, *command], cwd=root / "ui", check=True)


def is_current(root: Path) -> bool:
    """Whether there is a build, and no source of it is newer."""
    built = root / "src/sonde/server/ui/index.html"
    if not built.exists():
        return False
    return all(path.stat().st_mtime <= built.stat().st_mtime for path in sources(root / "ui"))


def sources(folder: Path) -> Iterator[Path]:
    """What the interface is built from."""
    yield from (path for path in (folder / "src").rglob("*") if path.is_file())
    named = (folder / name for name in ("index.html", "vite.config.ts", "package-lock.json"))
    yield from (path for path in named if path.exists())


def commands(root: Path) -> Iterator[list[str]]:
    """What to ask npm for. Packages that are there are left alone: somebody may be using them."""
    if not (root / "ui/node_modules").exists():
        yield ["ci", "--no-fund", "--no-audit"]
    yield ["run", "build"]
