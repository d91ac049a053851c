from pathlib import Path

import pytest

from sonde.backends.torch.loading import locate as module
from sonde.backends.torch.loading.gguf_file import cache_name
from sonde.backends.torch.loading.locate import (
    Located,
    locate,
    looks_like_a_path,
    older_names,
)
from sonde.errors import UnknownModel


def said_nothing(line: str) -> None:
    raise AssertionError(line)


def test_a_directory_is_found_and_known_by_its_path(tmp_path: Path) -> None:
    assert locate(str(tmp_path), said_nothing) == Located(tmp_path, str(tmp_path))


@pytest.mark.parametrize(
    "name", ["/no/such/place", "./nowhere", "a/b/c", "model.gguf", "~/nowhere"]
)
def test_a_path_that_is_not_there_never_asks_the_hub(name: str) -> None:
    with pytest.raises(UnknownModel, match=r"there is no file or directory /.*smollm2"):
        locate(name, said_nothing)


@pytest.mark.parametrize("name", ["gpt2", "Qwen/Qwen3-0.6B", "google/gemma-2-2b.v1"])
def test_a_hugging_face_id_is_not_taken_for_a_path(name: str) -> None:
    assert not looks_like_a_path(name)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"")
    with pytest.raises(UnknownModel, match=r"of files only \.gguf"):
        locate(str(tmp_path / "weights.bin"), said_nothing)


def test_an_alias_wins_over_a_directory_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "smollm2").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "alias_file", lambda alias: Path(alias.file))
    monkeypatch.setattr(module, "converted", lambda file, name, say: Path("cache") / name)
    assert locate("smollm2", said_nothing).directory == Path("cache/smollm2")
    assert locate("./smollm2", said_nothing).directory == Path("smollm2")


def test_an_id_from_the_hub_is_known_by_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "from_hub", lambda name: Path("/hub/snapshots/abc"))
    said: list[str] = []
    assert locate("org/model", said.append) == Located(Path("/hub/snapshots/abc"), "org/model")
    assert "Hugging Face Hub" in said[0]


def test_older_recipes_have_their_own_names_for_an_alias(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.gguf").write_bytes(b"weights")
    monkeypatch.setattr(module, "alias_file", lambda alias: tmp_path / "m.gguf")
    (older,) = older_names("smollm2")
    assert older.startswith("smollm2-")
    assert older != cache_name(tmp_path / "m.gguf", "smollm2")


def test_a_checkpoint_of_a_run_is_found_by_run_and_step(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-20").mkdir()
    found = locate(f"{tmp_path}@checkpoint-20", said_nothing)
    assert found.directory == tmp_path / "checkpoint-20"
    with pytest.raises(UnknownModel, match="has no checkpoint-7; it has checkpoints of steps 20"):
        locate(f"{tmp_path}@checkpoint-7", said_nothing)
