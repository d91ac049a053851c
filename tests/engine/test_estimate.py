"""A sweep costs what was estimated, in cells and in work; only the seconds are a guess."""

from typing import Any

import pytest

from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.fingerprint import fingerprint
from sonde.backends.torch.loading.loaded import Loaded
from sonde.engine import Limits, estimate
from sonde.errors import BadRequest, LayerOutOfRange, NothingToPatch
from sonde.schema import CLASSIC_HOOKS, PatchSweepRequest
from tests.engine.questions import CLEAN, CORRUPT, SHORT, request, summary_of
from tests.scripted import Scripted
from tests.tiny_model import tiny_llama, tiny_tokenizer

EIFFEL = "The Eiffel Tower is in the city of"
COLOSSEUM = "The Colosseum is in the city of"
STORE = "When Mary and John went to the store, John gave a drink to"
MARY = "When Mary and John went to the store, Mary gave a drink to"


@pytest.fixture(scope="module")
def backend() -> TorchBackend:
    model = tiny_llama(layers=3).requires_grad_(False)
    return TorchBackend(
        Loaded("tiny", model, tiny_tokenizer(), fingerprint(model), "float32", "cpu")
    )


def question(**fields: Any) -> PatchSweepRequest:
    given = {
        "prompt": MARY,
        "clean_prompt": STORE,
        "source_run": "clean",
        "layers": [0, 1, 2],
        "hooks": list(CLASSIC_HOOKS),
        "answer_token": " Mary",
    }
    return PatchSweepRequest(**given | fields)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"hooks": ["post_block"], "layers": [2]},
        {"positions": [1, 12, 13]},
        {"clean_prompt": MARY},
        {"alpha": 0.0},
        {"alpha": 0.5},
        {"prompt": COLOSSEUM, "clean_prompt": EIFFEL, "hooks": ["post_attn", "mlp_out"]},
        {"prompt": COLOSSEUM, "clean_prompt": EIFFEL, "pairing": "mean", "hooks": ["mlp_in"]},
        {"positions": [1, 2], "source_positions": [2, 2]},
        {"clean_prompt": None, "source_run": None, "source_module": "zeros"},
    ],
)
def test_the_cells_counted_are_the_cells_computed(backend: TorchBackend, fields: Any) -> None:
    asked = question(**fields)
    expected = estimate(backend, asked)

    summary = summary_of(backend, asked)

    assert expected.cells == summary.timing.cells
    assert expected.computed_cells == summary.timing.computed_cells
    assert expected.chunks >= bool(expected.computed_cells)


def test_the_run_that_would_be_captured_is_weighed(backend: TorchBackend) -> None:
    expected = estimate(backend, question(keep_source=True, layers=[0, 2]))

    summary_of(backend, question(keep_source=True, layers=[0, 2]))

    assert expected.source_bytes == backend.manifests()["clean"].bytes
    backend.drop("clean")


def test_it_captures_nothing_and_scores_nothing() -> None:
    scripted = Scripted()

    found = estimate(scripted, request(layers=[0, 1], positions="all_prompt"))

    assert scripted.runs == {}
    assert not {"score", "capture clean", "capture own"} & set(scripted.log)
    assert found.cells == 2 * 9
    assert found.computed_cells == 2 * 7  # `<s> The` is common to both prompts
    assert (found.token_layers, found.chunks) == (140, 3)


def test_positions_without_a_counterpart_are_not_counted() -> None:
    asked = request(prompt=SHORT, positions="all_prompt", layers=[1])

    assert estimate(Scripted(), asked).cells == 7


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"layers": [9]}, LayerOutOfRange),
        ({"positions": []}, NothingToPatch),
        ({"prompt": SHORT, "positions": [2]}, NothingToPatch),
        ({"source_positions": [1]}, BadRequest),
    ],
)
def test_what_a_sweep_would_refuse_is_refused(fields: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        estimate(Scripted(), request(**fields))


def test_limits_apply() -> None:
    with pytest.raises(BadRequest, match="a grid of 6 cells; at most 5"):
        estimate(Scripted(), request(), limits=Limits(cells=5))


def test_prompts_of_the_scripted_backend_are_what_they_seem() -> None:
    scripted = Scripted()

    assert [len(scripted.tokenize(text)) for text in (CLEAN, CORRUPT, SHORT)] == [9, 9, 8]
