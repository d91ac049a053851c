"""A sweep over features is the same on vLLM: it knows no more of a backend than the protocol."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sonde.backends.base import Backend
from sonde.engine.tables import sweep_table
from sonde.results.feature_table import feature_effects
from sonde.results.tables import StoredTable, from_json
from sonde.sae.feature_axis import feature_cells
from sonde.sae.feature_layout import EVERYWHERE
from sonde.sae.formats.sonde import save_autoencoder
from sonde.schema.table import FeatureAxis, SweepRequest, TableStart, TableSummary
from tests.backends.torch.tiny import backend_of
from tests.backends.vllm.engines import beside, saved, started
from tests.sae.reading import mirror
from tests.tiny_model import tiny_llama, tiny_tokenizer

pytestmark = pytest.mark.vllm

WIDTH, LAYER = 128, 1
TEXT = "The Eiffel Tower is in the city of"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tiny_llama(layers=3, width=WIDTH), tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def backend(directory: Path) -> Iterator[Backend]:
    with started(directory, dtype="float32") as engine:
        yield beside(engine, tiny_tokenizer())


def asked(**axis: Any) -> SweepRequest:
    given: dict[str, Any] = {"layer": LAYER, "top": 3, "draws": 4, "by": "activation"}
    features = FeatureAxis(**given | axis)
    return SweepRequest(corrupt=TEXT, answer=" Paris", features=features, metrics=["logprob"])


def swept(on: Backend, request: SweepRequest) -> TableSummary:
    cells_of = feature_cells(mirror(LAYER, width=WIDTH))
    start, *cells, summary = sweep_table(on, request, cells_of=cells_of)
    assert isinstance(start, TableStart)
    assert isinstance(summary, TableSummary)
    assert start.cells == len(cells)
    assert on.manifests() == {}
    return summary


def test_features_have_the_effects_that_torch_finds(backend: Backend) -> None:
    torch_backend = backend_of(tiny_llama(layers=3, width=WIDTH))
    ours, theirs = swept(backend, asked()), swept(torch_backend, asked())

    assert ours.notes == theirs.notes
    assert ours.tokens == theirs.tokens
    for mine, other in zip(ours.tables, theirs.tables, strict=True):
        assert mine.axes == other.axes
        for metric, values in other.values.items():
            assert mine.values[metric] == pytest.approx(values, abs=1e-3)
    moved = [each.everywhere for each in feature_effects(theirs)]
    assert max(abs(effect or 0.0) for effect in moved) > 0.01
    assert [control.kind for control in ours.controls] == ["alpha_zero", "self_patch"]


def test_a_feature_that_is_not_active_is_not_written(backend: Backend) -> None:
    found = swept(backend, asked(top=12, draws=0))
    [table] = found.tables
    assert table.activations is not None
    assert table.axes[1].values[-1] == EVERYWHERE
    nulls = [value is None for value in table.values["logit_diff"]]
    assert nulls == [value == 0 for value in table.activations]
    assert any(nulls)


def test_leaving_a_sweep_drops_what_it_captured(backend: Backend) -> None:
    running = sweep_table(backend, asked(), cells_of=feature_cells(mirror(LAYER, width=WIDTH)))
    next(running)
    next(running)
    assert len(backend.manifests()) == 1
    running.close()  # type: ignore[attr-defined]

    assert backend.manifests() == {}


def test_the_command_asks_an_engine_and_prints_nothing_but_the_answer(
    directory: Path, tmp_path: Path
) -> None:
    """A process of its own: what vLLM logs must not reach stdout, which is JSON here."""
    dictionary = mirror(LAYER, width=WIDTH)
    save_autoencoder(dictionary, tmp_path / "mirror")
    command = [
        sys.executable, "-m", "sonde", "ablate", "--backend", "vllm", "--model", str(directory),
        "--engine-option", "max_model_len=64", "--sae", str(tmp_path / "mirror"),
        "--layer", str(LAYER), "--prompt", TEXT, "--answer", " Paris", "--json",
    ]  # fmt: skip
    said = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1"},
    )
    assert said.returncode == 0, said.stderr[-4000:]
    stored = from_json(said.stdout)
    assert isinstance(stored, StoredTable)
    torch_backend = backend_of(tiny_llama(layers=3, width=WIDTH))
    expected = swept(torch_backend, asked(top=8, draws=19))
    effects = {each.feature: each.everywhere for each in feature_effects(stored.table)}
    others = {each.feature: each.everywhere for each in feature_effects(expected)}
    assert effects == pytest.approx(others, abs=2e-3)
