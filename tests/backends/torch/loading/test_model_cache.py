import threading
from pathlib import Path

import pytest

from sonde.backends.torch.loading.model_cache import cache_dir, cached, place
from sonde.errors import BadRequest


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(text: str, directory: Path) -> None:
    directory.mkdir()
    (directory / "weights").write_text(text)


def test_a_directory_is_built_once() -> None:
    first = cached("a", lambda directory: write("one", directory))
    again = cached("a", lambda directory: write("two", directory))
    assert first == again == place("a")
    assert (again / "weights").read_text() == "one"


def test_a_build_that_fails_leaves_nothing(cache: Path) -> None:
    def fail(directory: Path) -> None:
        write("half", directory)
        raise BadRequest("no")

    with pytest.raises(BadRequest, match="no"):
        cached("a", fail)
    assert list((cache / "models").iterdir()) == []


def test_what_a_killed_process_left_is_not_used(cache: Path) -> None:
    leftover = cache / "models" / ".a.x1y2"
    leftover.mkdir(parents=True)
    write("half", leftover / "a")
    built = cached("a", lambda directory: write("whole", directory))
    assert (built / "weights").read_text() == "whole"


def test_two_builders_at_once_give_one_directory(cache: Path) -> None:
    both_building = threading.Barrier(2)
    results: list[Path] = []

    def build(directory: Path) -> None:
        both_building.wait(timeout=10)
        write("same", directory)

    threads = [
        threading.Thread(target=lambda: results.append(cached("a", build))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [place("a"), place("a")]
    assert [entry.name for entry in (cache / "models").iterdir()] == ["a"]


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path / "file"))
    with pytest.raises(BadRequest, match=r"model cache .*file/models.*set SONDE_CACHE"):
        cached("a", lambda directory: write("", directory))


def test_without_the_variable_it_is_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SONDE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_dir() == tmp_path / "sonde"
