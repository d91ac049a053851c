"""Heads from Python: grids with an axis of heads, and attention of prompts and of results."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.engine import Limits
from sonde.errors import BadRequest, HeadOutOfRange
from sonde.results.pen import Pen
from sonde.results.terminal import render
from tests.tiny_model import save_tiny_model

CLEAN, CORRUPT = SENTENCES = (
    "The Eiffel Tower is in the city of",
    "The Colosseum is in is the city of",
)
EVERY = ["z", "q", "k", "v", "pattern"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> sonde.Model:
    return sonde.load(str(save_tiny_model(tmp_path_factory.mktemp("tiny"))), device="cpu")


def swept(model: sonde.Model, **options: Any) -> sonde.Sweep:
    asked: dict[str, Any] = {"clean": CLEAN, "corrupt": CORRUPT, "answer": " Paris"}
    return model.sweep(**(asked | options))


def test_grids_have_a_column_a_head_and_keys_as_many_as_the_model_has(model: sonde.Model) -> None:
    together = swept(model, hooks=EVERY, heads="all", positions="together")
    assert {hook: grid.shape for hook, grid in together.grids.items()} == {
        "z": (2, 4), "q": (2, 4), "k": (2, 2), "v": (2, 2), "pattern": (2, 4),
    }  # fmt: skip
    each = swept(model, hooks=["z", "k"], positions="each")
    n = len(each.table.tokens.prompt)
    assert each.grids["z"].shape == (2, 4, n)
    assert each.grids["k"].shape == (2, 2, n)
    assert list(each.axes["z"]) == ["layer", "head", "position"]
    some = swept(model, hooks=["z"], positions=[1, 3], heads=range(1, 3))
    assert some.grids["z"].shape == (2, 2, 2)
    assert np.array_equal(some.grids["z"], each.grids["z"][:, 1:3][:, :, [1, 3]])
    reader = swept(model, hooks=["k", "v"], kv="reader")
    assert reader.grids["k"].shape == (2, 4)


def test_key_heads_say_which_query_heads_share_them(model: sonde.Model) -> None:
    result = swept(model, hooks=["z", "k"])
    labels = {table.hook: table.axes[1].labels for table in result.table.tables}
    assert labels == {"z": ["0", "1", "2", "3"], "k": ["q0–1", "q2–3"]}
    assert swept(model, hooks=["k"], kv="reader").table.tables[0].axes[1].labels == list("0123")
    both = swept(model, hooks=["k"], heads=[[0, 1]]).table.tables[0].axes[1]
    assert (both.values, both.labels) == (["0+1"], ["q0–1+q2–3"])


def test_hooks_with_different_axes_work_everywhere(model: sonde.Model, tmp_path: Path) -> None:
    result = swept(model, hooks=["post_block", *EVERY], positions="together", metrics=["prob"])
    best = result.argmax
    assert best is not None
    value = max(float(grid.max()) for grid in result.grids.values())
    assert best.value == value
    for site in result.top(8, by="abs"):
        grid = result.grids[site.hook]
        assert site.layer is not None
        row = grid[site.layer]
        assert site.value == (row[site.head] if isinstance(site.head, int) else row)
        assert (site.head is None) == (site.hook == "post_block")
    assert result.values("prob")["k"].shape == (2, 2)
    assert "2 layers × 2 heads" in repr(result)
    again = sonde.Sweep.from_json(result.save(tmp_path / "heads.json"))
    assert again == result
    assert again.argmax == best
    text = render(result, pen=Pen(color=False), width=100)
    assert "k: q0–1 is the key that query heads 0–1 share" in text
    assert max(map(len, text.splitlines())) <= 100
    for kind in ("png", "svg", "html", "csv", "parquet"):
        assert (tmp_path / f"heads.{kind}") == result.save(tmp_path / f"heads.{kind}")
    assert '"k",1,0,"q0–1","logprob"' in (tmp_path / "heads.csv").read_text()
    assert "v: q0–1 is the value" in (tmp_path / "heads.html").read_text()


def test_panels_of_keys_are_narrower_in_a_picture_and_share_its_scale(model: sonde.Model) -> None:
    figure = swept(model, hooks=["z", "k"]).heatmap()
    wide, narrow, *_ = figure.axes
    assert wide.get_title() == "z"
    assert narrow.get_title() == "k"
    figure.draw_without_rendering()
    assert narrow.get_position().width < wide.get_position().width
    assert wide.get_images()[0].get_clim() == narrow.get_images()[0].get_clim()
    assert [tick.get_text() for tick in narrow.get_xticklabels()] == ["q0–1", "q2–3"]


def test_windows_and_sources_are_asked_for_by_name(model: sonde.Model) -> None:
    windows = swept(model, hooks=["z"], layers="windows:2")
    assert windows.table.tables[0].axes[0].labels == ["0–1", "1"]
    zero = swept(model, hooks=["z"], source="zero")
    mean = swept(model, hooks=["z"], source="mean", reference=[CLEAN, CORRUPT])
    drawn = swept(model, hooks=["z"], source="resample", reference=(CLEAN,), seed=3)
    clean = swept(model, hooks=["z"])
    assert np.array_equal(drawn.grids["z"], clean.grids["z"])
    assert not np.array_equal(zero.grids["z"], mean.grids["z"])
    assert mean.table.notes["mean"].startswith("sha256:")


def test_refusals_are_one_line_with_the_value_and_what_would_work(model: sonde.Model) -> None:
    tight = sonde.Model(model.backend, limits=Limits(cells=20))
    refused: list[tuple[sonde.Model, dict[str, Any], type[Exception], str]] = [
        (model, {"hooks": ["z"], "heads": [4]}, HeadOutOfRange, r"head 4 .* \[0, 4\) at z"),
        (model, {"hooks": ["k"], "heads": [2]}, HeadOutOfRange, r"head 2 .* at k; .* has 2 there"),
        (model, {"hooks": ["pattern"], "corrupt": "The city of"}, BadRequest, "one length"),
        (tight, {"hooks": ["z"], "positions": "each"}, BadRequest, "positions='together'"),
        (model, {"hooks": ["z"], "source": "mean"}, BadRequest, "`reference`"),
    ]
    for asked, fields, kind, why in refused:
        with pytest.raises(kind, match=why) as error:
            swept(asked, **fields)
        assert "\n" not in str(error.value)


def test_attention_of_a_prompt_is_an_array_of_weights(model: sonde.Model) -> None:
    found = model.attention(CLEAN)
    n = len(model.backend.tokenize(CLEAN))
    assert found.shape == (2, 4, n, n)
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-6)
    one = model.attention(CLEAN, layers=1, heads=2)
    assert np.array_equal(one, found[1:, 2:3])
    scores = model.head_scores(repeated=5)
    assert {name: each.shape for name, each in scores.items()} == {
        "previous": (2, 4), "duplicate": (2, 4), "induction": (2, 4),
    }  # fmt: skip


def test_a_result_shows_a_head_in_both_of_its_prompts(model: sonde.Model) -> None:
    for options in ({"hooks": ["z"]}, {"mask": {"indices": [0]}}):
        found = swept(model, **options).attention(1, 2)
        assert np.array_equal(found.clean, model.attention(CLEAN)[1, 2])
        assert np.array_equal(found.corrupt, model.attention(CORRUPT)[1, 2])
        if len(found.clean) == len(found.corrupt):
            assert found.difference is not None
            assert np.array_equal(found.difference, found.clean - found.corrupt)
    shorter = swept(model, hooks=["post_block"], corrupt="The city of").attention(0, 0)
    assert shorter.difference is None


def test_a_result_from_a_file_says_whose_model_to_ask(model: sonde.Model) -> None:
    saved = sonde.Sweep.from_json(swept(model, hooks=["z"]).to_json())
    with pytest.raises(BadRequest, match=r"has no model to ask.*attention\(prompt, layers=\[1\]"):
        saved.attention(1, 0)
    with pytest.raises(BadRequest, match="no clean prompt"):
        swept(model, hooks=["z"], clean=None, source="zero").attention(1, 0)


def test_a_result_of_other_weights_shows_none_of_these(tmp_path: Path) -> None:
    import torch

    model = sonde.load(str(save_tiny_model(tmp_path)), device="cpu")
    result = swept(model, hooks=["z"])
    with torch.no_grad():
        next(model.backend._model.parameters()).add_(0.5)  # type: ignore[attr-defined]
    with pytest.raises(BadRequest, match="was made with weights .* run the sweep again"):
        result.attention(0, 0)


@pytest.mark.slow
def test_the_walk_from_a_heatmap_to_heads_has_the_models_numbers(smollm2: sonde.Model) -> None:
    pair = sonde.PAIRS["ioi"]
    result = smollm2.sweep(
        clean=pair.clean, corrupt=pair.corrupt, answer=pair.answer, foil=pair.foil,
        hooks=["z", "v", "pattern"], layers=[17, 23], metric="recovered",
    )  # fmt: skip
    z, v, pattern = (result.grids[hook] for hook in ("z", "v", "pattern"))
    np.testing.assert_allclose([z[1, 3], v[1, 1], pattern[1, 3]], [0.584, 0.534, -0.017], atol=2e-3)
    np.testing.assert_allclose([z[0, 4], pattern[0, 4]], [0.178, 0.178], atol=2e-3)
    seen = result.attention(23, 3)
    np.testing.assert_allclose([seen.clean[-1, 9], seen.corrupt[-1, 9]], [0.740, 0.734], atol=2e-3)
    assert smollm2.head_scores(repeated=25)["induction"][17, 4] > 0.5
