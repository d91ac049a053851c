"""Two checkouts of one repository share a run directory and a port: the second must not use them.

A linked worktree (its `.git` is a file) is *secondary*; anything else is primary. A secondary one
may look at everything and start nothing that would collide, unless it is told otherwise. Reads the
files git keeps; never runs git.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from sonde.errors import BadSetting, SharedResource
from sonde.settings import GATEWAY_PORT, OUTPUT_DIR, set_variable

Role = Literal["primary", "secondary"]
ROLES: Final[tuple[Role, ...]] = ("primary", "secondary")

ROLE_VARIABLES: Final = ("SONDE_WORKTREE_ROLE", "AEGIR_WORKTREE_ROLE")
ALLOW_VARIABLE: Final = "ALLOW_SECONDARY"


@dataclass(frozen=True)
class Worktree:
    """Where this process stands."""

    role: Role
    toplevel: Path | None
    """None outside a repository."""
    git_dir: Path | None
    """What belongs to this worktree alone."""
    common_dir: Path | None
    """What all worktrees share."""
    branch: str | None
    """None when no branch is checked out."""
    worktrees: tuple[Path, ...]
    """All of the repository, this one among them."""


def find_worktree(start: Path, environ: Mapping[str, str] = os.environ) -> Worktree:
    """The worktree that holds a directory."""
    top = next((each for each in (start, *start.parents) if (each / ".git").exists()), None)
    if top is None:
        return Worktree(_role("primary", environ), None, None, None, None, ())
    dot_git = top / ".git"
    linked = dot_git.is_file()
    git_dir = _pointed(dot_git, top) if linked else dot_git
    common = _common(git_dir)
    role: Role = "secondary" if linked else "primary"
    return Worktree(
        role=_role(role, environ),
        toplevel=top,
        git_dir=git_dir,
        common_dir=common,
        branch=_branch(git_dir),
        worktrees=_all(common, top),
    )


def guard_training(here: Worktree, output_dir: Path, environ: Mapping[str, str]) -> None:
    """Refuse to train into the shared directory from a secondary worktree."""
    if here.role == "secondary" and not allowed(environ):
        raise SharedResource(
            f"this is a secondary worktree ({here.toplevel}), and runs in {output_dir} belong to "
            f"the primary one; set {' or '.join(OUTPUT_DIR)} to a directory of your own and "
            f"{ALLOW_VARIABLE}=1, or try --dry-run"
        )


def guard_serving(here: Worktree, port: int, environ: Mapping[str, str]) -> None:
    """Refuse to serve on the shared port from a secondary worktree. Port 0 is nobody's."""
    if here.role == "secondary" and port != 0 and not allowed(environ):
        raise SharedResource(
            f"this is a secondary worktree ({here.toplevel}), and port {port} belongs to the "
            f"primary one; set {' or '.join(GATEWAY_PORT)} to a port of your own and "
            f"{ALLOW_VARIABLE}=1"
        )


def allowed(environ: Mapping[str, str]) -> bool:
    """Whether somebody has said that a collision is taken care of."""
    return environ.get(ALLOW_VARIABLE) == "1"


def commit(here: Worktree) -> str | None:
    """The commit that is checked out; None where there is none."""
    if here.git_dir is None or here.common_dir is None:
        return None
    head = _line(here.git_dir / "HEAD")
    if not head.startswith("ref: "):
        return head or None
    name = head.removeprefix("ref: ")
    loose = _line(here.git_dir / name) or _line(here.common_dir / name)
    return loose or _packed(here.common_dir / "packed-refs", name)


def _role(found: Role, environ: Mapping[str, str]) -> Role:
    variable = set_variable(environ, *ROLE_VARIABLES)
    if variable is None:
        return found
    for role in ROLES:
        if environ[variable] == role:
            return role
    origin = f"the variable {variable}"
    raise BadSetting(variable, environ[variable], origin, "primary or secondary")


def _pointed(dot_git: Path, top: Path) -> Path:
    """What a linked worktree's `.git` file points to."""
    return (top / _line(dot_git).removeprefix("gitdir: ")).resolve()


def _common(git_dir: Path) -> Path:
    other = _line(git_dir / "commondir")
    return (git_dir / other).resolve() if other else git_dir


def _branch(git_dir: Path) -> str | None:
    head = _line(git_dir / "HEAD")
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None


def _all(common: Path, top: Path) -> tuple[Path, ...]:
    primary = (common.parent,) if common.name == ".git" else ()
    folders = sorted((common / "worktrees").glob("*/gitdir"))
    linked = (Path(_line(folder)).parent for folder in folders)
    return tuple(dict.fromkeys((*primary, *linked, top)))


def _packed(packed: Path, name: str) -> str | None:
    try:
        lines = packed.read_text().splitlines()
    except OSError:
        return None
    found = (line.partition(" ") for line in lines if not line.startswith(("#", "^")))
    return next((digest for digest, _, ref in found if ref == name), None)


def _line(path: Path) -> str:
    """The first line of a small file, or nothing."""
    try:
        return path.read_text().strip().partition("\n")[0]
    except OSError:
        return ""
