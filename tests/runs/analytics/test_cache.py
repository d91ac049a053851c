from pathlib import Path

import pytest

from sonde.runs.analytics import cache
from sonde.runs.analytics.cache import Caches


def test_the_run_itself_comes_first_then_the_users_cache_then_a_folder_that_goes(
    tmp_path: Path,
) -> None:
    caches = Caches(tmp_path / "run", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert caches.existing() == []
    own, users, temporary = caches.writable()
    assert own == tmp_path / "run" / ".sonde" / "analytics-1"
    assert users.is_relative_to(tmp_path / "cache")
    assert temporary.is_dir()
    assert caches.existing() == [own, users]
    caches.close()
    assert not temporary.exists()
    caches.close()


def test_a_disk_that_is_nearly_full_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "ROOM", 2**80)
    caches = Caches(tmp_path / "run")
    (only,) = caches.writable()
    assert not only.is_relative_to(tmp_path)
    caches.close()


def test_two_runs_never_share_a_place(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    one, other = (Caches(tmp_path / name, environ).candidates[1] for name in ("a", "b"))
    assert one != other


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere" / "analytics-1").mkdir(parents=True)
    (tmp_path / "run" / ".sonde").symlink_to(tmp_path / "elsewhere")
    caches = Caches(tmp_path / "run", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert caches.existing() == []
    assert next(caches.writable()).is_relative_to(tmp_path / "cache")
    assert list((tmp_path / "elsewhere" / "analytics-1").iterdir()) == []
