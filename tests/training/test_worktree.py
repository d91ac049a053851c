import subprocess
from pathlib import Path

import pytest

from sonde.errors import BadSetting, SharedResource
from sonde.training.worktree import (
    commit,
    find_worktree,
    guard_serving,
    guard_training,
)


def git(*arguments: str, cwd: Path) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=cwd, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A real one, with a linked worktree beside it."""
    top = tmp_path / "main"
    top.mkdir()
    git("init", "-q", "-b", "trunk", cwd=top)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=top)
    git("worktree", "add", "-q", "-b", "side", str(tmp_path / "second"), cwd=top)
    return top


def test_a_repository_is_primary_and_a_linked_worktree_secondary(repository: Path) -> None:
    (repository / "deep" / "down").mkdir(parents=True)
    here = find_worktree(repository / "deep" / "down", {})
    assert (here.role, here.toplevel, here.branch) == ("primary", repository, "trunk")
    assert here.common_dir == repository / ".git"
    second = repository.parent / "second"
    there = find_worktree(second, {})
    assert (there.role, there.toplevel, there.branch) == ("secondary", second, "side")
    assert there.common_dir == here.common_dir
    assert there.worktrees == here.worktrees == (repository, second)


def test_no_repository_is_primary(tmp_path: Path) -> None:
    here = find_worktree(tmp_path, {})
    assert (here.role, here.toplevel, here.worktrees) == ("primary", None, ())
    assert commit(here) is None


def test_the_variable_overrides_and_a_wrong_one_is_named(repository: Path) -> None:
    second = repository.parent / "second"
    assert find_worktree(second, {"AEGIR_WORKTREE_ROLE": "primary"}).role == "primary"
    assert find_worktree(repository, {"AEGIR_WORKTREE_ROLE": "secondary"}).role == "secondary"
    with pytest.raises(BadSetting, match=r"AEGIR_WORKTREE_ROLE.*'main'.*primary or secondary"):
        find_worktree(repository, {"AEGIR_WORKTREE_ROLE": "main"})


def test_a_secondary_worktree_is_told_what_it_would_collide_with(repository: Path) -> None:
    second = find_worktree(repository.parent / "second", {})
    with pytest.raises(SharedResource, match=r"/raid/p5.*AEGIR_P5_OUTPUT_DIR.*ALLOW_SECONDARY=1"):
        guard_training(second, Path("/raid/p5"), {})
    with pytest.raises(SharedResource, match=r"port 8091.*AEGIR_GATEWAY_PORT.*ALLOW_SECONDARY=1"):
        guard_serving(second, 8091, {})
    guard_training(second, Path("/raid/p5"), {"ALLOW_SECONDARY": "1"})
    guard_serving(second, 8091, {"ALLOW_SECONDARY": "1"})
    guard_serving(second, 0, {})
    with pytest.raises(SharedResource):
        guard_serving(second, 8091, {"ALLOW_SECONDARY": "0"})


def test_the_primary_worktree_may_do_everything(repository: Path) -> None:
    here = find_worktree(repository, {})
    guard_training(here, Path("/raid/p5"), {})
    guard_serving(here, 8091, {})


def test_the_commit_is_the_one_git_would_say(repository: Path) -> None:
    wanted = git("rev-parse", "HEAD", cwd=repository)
    assert commit(find_worktree(repository, {})) == wanted
    second = repository.parent / "second"
    assert commit(find_worktree(second, {})) == wanted
    git("pack-refs", "--all", cwd=repository)
    assert commit(find_worktree(second, {})) == wanted
    git("checkout", "-q", "--detach", cwd=repository)
    assert commit(find_worktree(repository, {})) == wanted
    assert find_worktree(repository, {}).branch is None
