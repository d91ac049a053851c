"""The Python face: plain arguments in, the same request as on the wire, a result out."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.backends.base import FromVector, write_at
from sonde.engine import Limits, VectorModule
from sonde.errors import BadRequest, LayerOutOfRange, UnknownModel
from sonde.results.provenance import versions
from sonde.schema import CLASSIC_HOOKS, LAYER_HOOKS, Cell, PatchSweepRequest, Start, Summary
from sonde.schema.table import FeatureAxis, SweepRequest, TableCell, TableStart, TableSummary
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


def test_what_both_kinds_of_sweep_can_ask_has_the_same_bits(tmp_path: Path) -> None:
    model = sonde.load(str(save_tiny_model(tmp_path)), device="cpu")
    for metric in ("logprob", "recovered", "logit_diff"):
        asked: Any = ASKED | {
            "hooks": CLASSIC_HOOKS,
            "foil": None if metric == "recovered" else " Rome",
            "metric": metric,
            "metrics": ["logprob"],
            "pairing": "mean",
            "alpha": 0.75,
        }
        general, classic = model.sweep(**asked), model.sweep(**asked, clean_baseline=0.0)
        assert isinstance(model.request(**asked), SweepRequest)
        assert classic.summary is not None
        assert general.summary is None
        for name in (metric, "logprob"):
            one, other = general.values(name), classic.values(name)
            assert list(one) == list(other) == list(CLASSIC_HOOKS)
            assert all(np.array_equal(one[hook], other[hook]) for hook in one)
        same = (
            "metric",
            "clean",
            "corrupt",
            "noise_floor",
            "layers",
            "positions",
            "tokens",
            "axes",
        )
        assert all(getattr(general, name) == getattr(classic, name) for name in same)
        assert general.argmax == classic.argmax
        assert general.recovered_of == ("logprob" if metric == "recovered" else "logit_diff")
        assert classic.recovered_of == "logprob"
    alone = ASKED | {"foil": " Rome", "metric": "logit_diff"}
    found = [model.sweep(**alone).grids, model.sweep(**alone, clean_baseline=0.0).grids]
    np.testing.assert_allclose(found[0]["post_block"], found[1]["post_block"], rtol=0, atol=2e-6)


def test_a_directory_is_named_by_its_path_or_its_text(tmp_path: Path) -> None:
    folder = save_tiny_model(tmp_path)
    by_path, by_text = sonde.load(folder, device="cpu"), sonde.load(str(folder), device="cpu")
    assert by_path.backend.describe().name == by_text.backend.describe().name == str(folder)


def test_beside_a_foil_recovered_is_of_the_logit_difference(model: sonde.Model) -> None:
    general = model.sweep(**ASKED, foil=" Rome", metric="recovered", metrics=["logit_diff"])
    zero, one = general.corrupt, general.clean
    assert zero is not None
    assert one is not None
    assert general.recovered_of == "logit_diff"
    shares = (general.values("logit_diff")["post_block"] - zero) / (one - zero)
    np.testing.assert_allclose(general.grids["post_block"], shares)


def test_positions_together_make_one_column_of_layers(model: sonde.Model) -> None:
    result = model.sweep(**ASKED, positions="together", hooks=["post_block", "mlp_in"])
    assert result.grids["mlp_in"].shape == (LAYERS,)
    assert result.axes["mlp_in"] == {"layer": list(range(LAYERS))}
    assert (result.layers, result.positions, result.tokens) == (list(range(LAYERS)), [], [])
    assert result.argmax is not None
    assert result.argmax.position is None


def test_a_tiny_model_tells_every_metric_of_several_answers_of_several_tokens(
    tmp_path: Path,
) -> None:
    model = sonde.load(str(save_tiny_model(tmp_path)), device="cpu")
    further = ["prob", "kl_clean", "kl_corrupt", "rank", "top1", "recovered"]
    result = model.sweep(
        clean=CLEAN, corrupt=CORRUPT, answer=[" Paris", " Atlantis"], foil=" Rome", metrics=further
    )
    assert result.metrics == ["logprob", *further]
    np.testing.assert_allclose(
        result.values("prob")["post_block"], np.exp(result.grids["post_block"])
    )
    assert set(np.unique(result.values("top1")["post_block"])) <= {0.0, 1.0}
    assert "several tokens" in result.table.notes["answer_tokens"]
    zeros = model.sweep(corrupt=CORRUPT, answer=" Paris", source="zero")
    module = model.sweep(corrupt=CORRUPT, answer=" Paris", source_module="zeros")
    assert np.array_equal(zeros.grids["post_block"], module.grids["post_block"])


def test_features_are_refused_where_there_is_no_dictionary(model: sonde.Model) -> None:
    asked = SweepRequest(corrupt=CORRUPT, answer=" Paris", features=FeatureAxis(layer=0))
    for ask in (model.run, model.estimate):
        with pytest.raises(BadRequest, match="features need a dictionary"):
            ask(asked)


def test_a_request_of_either_kind_can_be_run_as_it_is(model: sonde.Model) -> None:
    general = model.request(**ASKED)
    assert model.run(general).provenance.request["corrupt"] == CORRUPT
    classic = PatchSweepRequest(
        prompt=CORRUPT, clean_prompt=CLEAN, source_run="r", layers=[0], answer_token=" Paris"
    )
    assert model.run(classic).provenance.request["prompt"] == CORRUPT


def test_a_vector_source_gets_no_run(model: sonde.Model) -> None:
    asked = model.request(corrupt=CORRUPT, answer=" Paris", source_module="zeros")

    assert asked.source_run is None
    assert model.run(asked).noise_floor == 0.0


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

    assert [type(event) for event in seen] == [TableStart, TableCell, TableCell, TableSummary]
    seen.clear()
    model.sweep(**ASKED, layers=[0], positions=[2], mask={"indices": [0]}, on_event=seen.append)
    assert [type(event) for event in seen] == [Start, Cell, Summary]


def test_a_sweep_can_be_left(model: sonde.Model) -> None:
    events: Any = model.events(model.request(**ASKED))
    next(events)
    events.close()

    assert model.backend.manifests() == {}


def test_limits_are_the_models() -> None:
    model = sonde.Model(Scripted(), limits=Limits(cells=3))

    with pytest.raises(BadRequest, match="at most 3 are admitted"):
        model.sweep(**ASKED)
    with pytest.raises(BadRequest, match="at most 3 cells"):
        model.sweep(**ASKED, mask={"indices": [0]})


def test_an_estimate_is_of_the_same_request(model: sonde.Model) -> None:
    for options in ({}, {"positions": "together"}, {"mask": {"indices": [0]}}):
        asked = model.request(**ASKED, **options)
        assert model.estimate(asked).cells == model.run(asked).timing.cells


def test_a_capture_takes_everything_unless_told(model: sonde.Model) -> None:
    whole = model.capture("all", CLEAN)
    part = model.capture("part", CLEAN, hooks=["mlp_in"], layers=[1], positions=[0])

    assert (len(whole.hooks), len(whole.layers), len(whole.positions)) == (5, LAYERS, 9)
    assert (part.hooks, part.layers, part.positions) == (["mlp_in"], [1], [0])


def test_a_captured_run_can_be_swept_from(model: sonde.Model) -> None:
    model.capture("kept", CLEAN)

    result = model.sweep(corrupt=CORRUPT, answer=" Paris", source_run="kept")

    assert result.summary is not None
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
        hooks=LAYER_HOOKS,
        pairing="last",
    )
    patch = write_at("post_block", 0, 2, FromVector(np.ones(width, dtype=np.float32)))

    assert result.noise_floor == 0.0
    assert all(control.difference == 0 for control in result.controls)
    assert model.describe().exact
    plain = model.generate("The Colosseum is", max_tokens=5)
    assert model.generate("The Colosseum is", max_tokens=5) == plain
    assert isinstance(model.generate("The Colosseum is", max_tokens=5, writes=[patch]), str)


def test_a_name_that_leads_nowhere_says_what_would(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match="smollm2"):
        sonde.load(str(tmp_path / "nowhere"))
