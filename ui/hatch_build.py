"""Builds the interface into the wheel, so that whoever installs it needs no Node.

An editable install leaves it alone: `make ui` builds it there. Where the build is already in the
tree, as in a source distribution, nothing is done.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class InterfaceBuild(BuildHookInterface[Any]):
    """Runs before the wheel's files are collected."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, unless there is a build."""
        root = Path(self.root)
        if version == "editable" or (root / "src/sonde/server/ui/index.html").exists():
            return
        npm = shutil.which("npm")
        if npm is None:
            self.app.display_warning(
                "no npm found: this wheel is without the page at /. Install Node 20.19 or newer."
            )
            return
        for command in (["ci", "--no-fund", "--no-audit"], ["run", "build"]):
            subprocess.run([npm, *command], cwd=root / "ui", check=True)
