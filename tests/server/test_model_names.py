"""Names of models lead to directories below the roots, and to nothing else."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sonde.errors import BadRequest, UnknownModel
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.model_names import ModelNames
from tests.server.checkpoints import a_run, an_adapter, pooled
from tests.server.test_opened_files import heard
from tests.tiny_model import save_tiny_model

__all__ = ["heard"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A root, runs, and something outside of both."""
    a_run(tmp_path / "runs", steps=[20])
    save_tiny_model(tmp_path / "root" / "mine", seed=1)
    save_tiny_model(tmp_path / "outside", seed=2)
    return tmp_path


def names(folder: Path, **given: str) -> ModelNames:
    return ModelNames(given, roots=[folder / "root"], runs=Hub(RunLayout(folder / "runs")))


def test_all_that_can_be_asked_for_is_listed_and_found_by_that_name(folder: Path) -> None:
    found = names(folder, small="smollm2")
    assert found.names() == ["small", "one@checkpoint-20", "mine"]
    sources = [found.find(name).source for name in found.names()]
    assert sources == [
        "smollm2",
        str(folder / "runs" / "one" / "checkpoint-20"),
        str(folder / "root" / "mine"),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "runs/one@checkpoint-20",
        "{folder}/runs/one@checkpoint-20",
        "one/checkpoint-20",
        "{folder}/runs/one/checkpoint-20",
    ],
)
def test_a_run_may_be_named_by_its_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(folder / "runs" if name.startswith("one") else folder)
    found = names(folder).find(name.format(folder=folder))
    assert found.source == str(folder / "runs" / "one" / "checkpoint-20")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "outside",
        "../outside",
        "mine/../../outside",
        "/etc",
        "/",
        ".",
        "~",
        "a\0b",
        "a\nb",
        "x" * 10_000,
        "../outside@checkpoint-1",
        "one@checkpoint-7",
        "one@checkpoint-020",
        "@checkpoint-20",
        "two@checkpoint-20",
        "org/model",
        "{folder}/outside",
    ],
)
def test_nothing_else_is_found_and_nothing_is_opened(
    folder: Path, heard: list[str], name: str
) -> None:
    with pytest.raises(UnknownModel):
        names(folder).find(name.format(folder=folder))
    assert [path for path in heard if path.startswith((str(folder / "outside"), "/etc"))] == []


def link_folder(folder: Path) -> None:
    (folder / "root" / "bad").symlink_to(folder / "outside")


def link_weights(folder: Path) -> None:
    bad = save_tiny_model(folder / "root" / "bad")
    (bad / "model.safetensors").unlink()
    (bad / "model.safetensors").symlink_to(folder / "outside" / "model.safetensors")


def link_inner_folder(folder: Path) -> None:
    (save_tiny_model(folder / "root" / "bad") / "more").symlink_to(folder / "outside")


def name_weights_elsewhere(folder: Path) -> None:
    bad = save_tiny_model(folder / "root" / "bad")
    (bad / "model.safetensors").unlink()
    index = {"metadata": {}, "weight_map": {"a": "../../outside/model.safetensors"}}
    (bad / "model.safetensors.index.json").write_text(json.dumps(index))


def name_vocabulary_elsewhere(folder: Path) -> None:
    bad = save_tiny_model(folder / "root" / "bad")
    settings = json.loads((bad / "tokenizer_config.json").read_text())
    settings["tokenizer_file"] = str(folder / "outside" / "tokenizer.json")
    (bad / "tokenizer_config.json").write_text(json.dumps(settings))


def a_pipe(folder: Path) -> None:
    os.mkfifo(save_tiny_model(folder / "root" / "bad") / "merges.txt")


@pytest.mark.parametrize(
    "harm",
    [
        link_folder,
        link_weights,
        link_inner_folder,
        name_weights_elsewhere,
        name_vocabulary_elsewhere,
        a_pipe,
    ],
)
def test_a_model_that_leads_outside_is_refused_before_anything_is_opened_there(
    folder: Path, heard: list[str], harm: Callable[[Path], None]
) -> None:
    harm(folder)
    heard.clear()
    with pytest.raises(UnknownModel):
        names(folder).find("bad")
    assert [path for path in heard if path.startswith(str(folder / "outside"))] == []


def test_a_checkpoint_that_is_a_link_is_no_checkpoint(folder: Path) -> None:
    (folder / "runs" / "one" / "checkpoint-7").symlink_to(folder / "outside")
    with pytest.raises(UnknownModel, match="has no checkpoint-7; it has checkpoints of steps 20"):
        names(folder).find("one@checkpoint-7")


@pytest.mark.parametrize("base", ["{outside}", "org/unheard-of", "../../outside"])
def test_an_adapter_does_not_lead_to_a_base_elsewhere(
    tmp_path: Path, heard: list[str], base: str
) -> None:
    outside = save_tiny_model(tmp_path / "outside")
    adapter = an_adapter(tmp_path / "runs" / "one" / "checkpoint-20", outside, seed=1)
    config = json.loads((adapter / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = base.format(outside=outside)
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    with pooled(tmp_path / "runs", room=4) as here:
        source = here.pool.find("one@checkpoint-20")
        heard.clear()
        with pytest.raises(UnknownModel, match="may not open|needs its base"):
            list(here.pool.run(source, lambda _: iter(())))
    assert [path for path in heard if path.startswith(str(outside))] == []


def test_an_adapter_may_have_a_base_that_the_server_was_given(tmp_path: Path) -> None:
    base = save_tiny_model(tmp_path / "elsewhere")
    an_adapter(tmp_path / "runs" / "one" / "checkpoint-20", base, seed=1)
    given = ModelNames({"base": str(base)}, runs=Hub(RunLayout(tmp_path / "runs")))
    given.may_open(tmp_path / "runs" / "one" / "checkpoint-20", base)
    with pytest.raises(UnknownModel, match="--model-root"):
        given.may_open(tmp_path / "runs" / "one" / "checkpoint-20", tmp_path)


def test_pickles_are_not_opened(folder: Path) -> None:
    bad = folder / "runs" / "one" / "checkpoint-20"
    (bad / "model.safetensors").rename(bad / "pytorch_model.bin")
    with pooled(folder / "runs", room=4) as here:
        work = here.pool.run(here.pool.find("one@checkpoint-20"), lambda _: iter(()))
        with pytest.raises(BadRequest, match="pickle"):
            list(work)
