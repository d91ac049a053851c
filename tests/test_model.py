"""The Python face: plain arguments in, the same request as on the wire, a result out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.backends.base import FromVector, Patch
from sonde.engine import Limits, VectorModule
from sonde.errors import BadRequest, LayerOutOfRange, UnknownModel
from sonde.model import versions
from sonde.schema import Cell, LayerRange, SpanPosition, Start, Summary
from tests.engine.questions import CLEAN, CORRUPT
from tests.scripted import LAYERS, WIDTH, Scripted
from tests.tiny_model import save_tiny_model

ASKED: dict[str, Any] = {"clean": CLEAN, "corrupt": CORRUPT, "answer": " Paris"}


@pytest.fixture
def model() -> sonde.Model:
    return sonde.Model(Scripted())


def test_a_sweep_takes_two_prompts_and_an_answer(model: sonde.Model) -> None:
    result = model.sweep(**ASKED)

    assert list(result.grids) == ["post_block"]
    assert result.grids["post_block"].shape == (LAYERS, 9)


def test_hooks_layers_and_positions_are_taken_as_people_write_them(model: sonde.Model) -> None:
    asked = model.request(
        **ASKED, hooks="mlp_in", layers=range(0, 4, 2), positions=["Colosseum", 4, sonde.Span("is")]
    )

    assert asked.hooks == ["mlp_in"]
    assert asked.layers == [0, 2]
    assert asked.positions == [SpanPosition(span="Colosseum"), 4, SpanPosition(span="is")]
    assert model.request(**ASKED, positions="Colosseum").positions == [
        SpanPosition(span="Colosseum")
    ]
    assert model.request(**ASKED, positions="all").positions == "all_prompt"
    assert model.request(**ASKED, layers=np.arange(2)).layers == [0, 1]
    assert model.request(**ASKED, layers=LayerRange(start=1, stop=3)).layers == LayerRange(
        start=1, stop=3
    )


def test_tokens_may_be_given_by_number(model: sonde.Model) -> None:
    asked = model.request(corrupt=CORRUPT, answer=9, foil=10)

    assert (asked.answer_token, asked.answer_token_id) == (None, 9)
    assert (asked.foil_token, asked.foil_token_id) == (None, 10)


def test_every_sweep_captures_under_a_name_of_its_own(model: sonde.Model) -> None:
    first, second = (model.request(**ASKED).source_run for _ in range(2))

    assert first != second
    assert model.request(**ASKED, source_run="mine").source_run == "mine"


def test_a_vector_source_gets_no_run(model: sonde.Model) -> None:
    asked = model.request(corrupt=CORRUPT, answer=" Paris", source_module="zeros")

    assert asked.source_run is None
    assert model.run(asked).summary.noise_floor == 0.0


def test_named_vectors_belong_to_the_model() -> None:
    joy = VectorModule({("mlp_in", 0): np.ones(WIDTH, dtype=np.float32)})
    model = sonde.Model(Scripted(), vectors={"joy": joy})

    result = model.sweep(
        corrupt=CORRUPT, answer=" Paris", source_module="joy", hooks="mlp_in", layers=[0]
    )

    assert np.isfinite(result.grids["mlp_in"]).all()


def test_a_misspelt_option_is_refused(model: sonde.Model) -> None:
    with pytest.raises(BadRequest, match="sweep.. takes no 'aplha'"):
        model.sweep(**ASKED, aplha=0.5)


WRONG: list[dict[str, Any]] = [
    {"layers": [True]},
    {"layers": [2.5]},
    {"alpha": float("nan")},
]


def test_a_wrong_value_is_refused_in_one_line(model: sonde.Model) -> None:
    with pytest.raises(LayerOutOfRange, match="layer 9 is out of range"):
        model.sweep(**ASKED, layers=[9])
    for options in WRONG:
        with pytest.raises(BadRequest) as caught:
            model.sweep(**ASKED, **options)
        assert "\n" not in str(caught.value)
        assert next(iter(options)) in str(caught.value)


def test_events_are_seen_as_they_come(model: sonde.Model) -> None:
    seen: list[Any] = []
    model.sweep(**ASKED, layers=[0], positions=[2, 3], on_event=seen.append)

    assert [type(event) for event in seen] == [Start, Cell, Cell, Summary]


def test_a_sweep_can_be_left(model: sonde.Model) -> None:
    events: Any = model.events(model.request(**ASKED))
    next(events)
    events.close()

    assert model.backend.manifests() == {}


def test_limits_are_the_models() -> None:
    model = sonde.Model(Scripted(), limits=Limits(cells=3))

    with pytest.raises(BadRequest, match="at most 3 cells"):
        model.sweep(**ASKED)


def test_an_estimate_is_of_the_same_request(model: sonde.Model) -> None:
    asked = model.request(**ASKED)

    assert model.estimate(asked).cells == model.run(asked).summary.timing.cells


def test_a_capture_takes_everything_unless_told(model: sonde.Model) -> None:
    whole = model.capture("all", CLEAN)
    part = model.capture("part", CLEAN, hooks=["mlp_in"], layers=[1], positions=[0])

    assert (len(whole.hooks), len(whole.layers), len(whole.positions)) == (5, LAYERS, 9)
    assert (part.hooks, part.layers, part.positions) == (["mlp_in"], [1], [0])


def test_a_captured_run_can_be_swept_from(model: sonde.Model) -> None:
    model.capture("kept", CLEAN)

    result = model.sweep(corrupt=CORRUPT, answer=" Paris", source_run="kept")

    assert not result.summary.auto_captured
    assert "kept" in model.backend.manifests()


def test_a_completion_is_text(model: sonde.Model) -> None:
    tokens = model.backend.tokenize(CLEAN)

    text = model.generate(CLEAN, max_tokens=2)

    assert text == model.backend.detokenize([sum(tokens) % 17, (sum(tokens) + 1) % 17])


def test_the_result_knows_where_it_comes_from(model: sonde.Model) -> None:
    assert {"sonde", "torch", "transformers"} <= set(versions())


def test_a_directory_is_loaded_swept_and_patched(tmp_path: Path) -> None:
    model = sonde.load(str(save_tiny_model(tmp_path)), memory_budget=2**28)
    width = model.describe().width

    result = model.sweep(
        clean="The Eiffel Tower is in the city of",
        corrupt="The Colosseum is in the city of",
        answer=" Paris",
        hooks=sonde.HOOKS,
        pairing="last",
    )
    patch = Patch("post_block", 0, 2, FromVector(np.ones(width, dtype=np.float32)))

    assert result.summary.noise_floor == 0.0
    assert all(control.difference == 0 for control in result.summary.controls)
    assert model.describe().exact
    plain = model.generate("The Colosseum is", max_tokens=5)
    assert model.generate("The Colosseum is", max_tokens=5) == plain
    assert isinstance(model.generate("The Colosseum is", max_tokens=5, patches=[patch]), str)


def test_a_name_that_leads_nowhere_says_what_would(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match="smollm2"):
        sonde.load(str(tmp_path / "nowhere"))
