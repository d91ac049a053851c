"""A run's own tokenizer says what its tokens are, and nobody else's is opened in its place."""

import json
from pathlib import Path

import pytest

from sonde.runs.layout import RunLayout
from sonde.server.run_tokens import FILE, splitter
from tests.runs.analytics.made import run_info
from tests.tiny_model import tiny_tokenizer

TEXT = " in the city of Rome"
PIECES = [" in", " the", " city", " of", " Rome"]


def saved(folder: Path) -> None:
    folder.mkdir(parents=True)
    tiny_tokenizer().save_pretrained(folder)


@pytest.fixture
def layout(tmp_path: Path) -> RunLayout:
    """A run without checkpoints whose model lies in a directory of its own."""
    saved(tmp_path / "model")
    layout = RunLayout(tmp_path / "run")
    layout.directory.mkdir()
    info = run_info().model_copy(update={"model": str(tmp_path / "model")})
    layout.run_info.write_text(json.dumps(info.model_dump(by_alias=True)))
    return layout


def test_the_newest_checkpoint_says_what_tokens_are(layout: RunLayout) -> None:
    saved(layout.checkpoint(20))
    layout.checkpoint(40).mkdir()
    (layout.checkpoint(40) / FILE).write_text("{}")
    split = splitter(layout)
    assert split is not None, "the damaged one is passed over"
    assert split(TEXT) == PIECES


def test_a_model_outside_the_run_is_opened_only_when_that_is_asked_for(layout: RunLayout) -> None:
    assert splitter(layout) is None
    split = splitter(layout, elsewhere=True)
    assert split is not None
    assert split(TEXT) == PIECES


def test_a_link_out_of_the_run_is_not_followed(layout: RunLayout, tmp_path: Path) -> None:
    layout.checkpoint(20).mkdir()
    (layout.checkpoint(20) / FILE).symlink_to(tmp_path / "model" / FILE)
    assert splitter(layout) is None


@pytest.mark.parametrize("model", ["smollm2", "nobody/has-this", "not a name: at all"])
def test_a_tokenizer_that_is_not_here_is_not_fetched(layout: RunLayout, model: str) -> None:
    info = run_info().model_copy(update={"model": model})
    layout.run_info.write_text(json.dumps(info.model_dump(by_alias=True)))
    assert splitter(layout, elsewhere=True) is None


def test_a_run_that_says_nothing_of_itself_has_none(tmp_path: Path) -> None:
    assert splitter(RunLayout(tmp_path), elsewhere=True) is None
