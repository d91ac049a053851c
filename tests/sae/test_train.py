"""Training on a tiny model: it learns, reports, stops and goes on with the same bits."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sonde.errors import BadRequest
from sonde.sae import training_state
from sonde.sae.autoencoder import Origin
from sonde.sae.buffer import gather
from sonde.sae.evaluate import evaluate
from sonde.sae.train import Progress, Recipe, Sites, fast_products, train
from tests.sae.formulas import fvu
from tests.sae.reading import random_contexts, tiny_reader

RECIPE = Recipe(d_sae=64, k=6, tokens=20_000, batch=200, learning_rate=5e-3, buffer=1500, seed=3)
SITE = Sites("post_block", (0, 1))
TEXT = random_contexts(150)


def test_what_is_learned_explains_text_it_was_not_trained_on() -> None:
    told: list[Progress] = []
    trainees = train(tiny_reader(), TEXT, SITE, RECIPE, report=told.append, report_every=0)
    held_out = gather(tiny_reader(), random_contexts(40, seed=9), "post_block", [0, 1])
    for layer, trainee in trainees.items():
        share = fvu(
            held_out[layer][0],
            trainee.finished("post_block", layer, Origin()).reconstruct(held_out[layer][0]),
        )
        assert share < 0.5
        assert told[-1].layers[layer].fvu < 0.6 * told[0].layers[layer].fvu
        assert told[-1].layers[layer].l0 <= RECIPE.k
    assert told[-1].tokens == told[-1].total == RECIPE.tokens
    assert told[-1].seconds_left == 0
    assert told[0].seconds_left > 0


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"kind": "batchtopk", "cap": 0.5},
        {"kind": "jumprelu", "nested": (16,)},
        {"buffer": 1_000_000},
    ],
)
def test_a_run_that_was_stopped_goes_on_with_the_bits_it_would_have_had(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    """Stopped in the third round, after the second was saved."""
    recipe = replace(RECIPE, **change)
    whole = train(tiny_reader(), TEXT, SITE, recipe)

    def stop(now: Progress) -> None:
        if now.tokens > 6000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(
            tiny_reader(), TEXT, SITE, recipe,
            state=tmp_path, save_every=0, report=stop, report_every=0,
        )  # fmt: skip
    saved = training_state.load(tmp_path, _said(recipe), torch.device("cpu"))
    assert saved is not None
    assert 0 < saved.tokens < recipe.tokens
    told: list[Progress] = []
    resumed = train(
        tiny_reader(), TEXT, SITE, recipe, state=tmp_path, report=told.append, report_every=0
    )
    assert told[0].tokens > saved.tokens
    for layer in SITE.layers:
        for name, tensor in whole[layer].state().items():
            assert torch.equal(tensor, resumed[layer].state()[name]), (layer, name)


def _said(recipe: Recipe) -> dict[str, object]:
    from dataclasses import asdict

    return {"recipe": asdict(recipe), "site": asdict(SITE), "tokens": TEXT.n_tokens}


def test_layers_trained_side_by_side_are_what_they_are_alone() -> None:
    short = replace(RECIPE, tokens=2000)
    both = train(tiny_reader(), TEXT, SITE, short)
    alone = train(tiny_reader(), TEXT, Sites("post_block", (1,)), short)
    torch.testing.assert_close(both[1].W_dec, alone[1].W_dec)


def test_a_seed_is_another_autoencoder() -> None:
    short = replace(RECIPE, tokens=400)
    one = train(tiny_reader(), TEXT, SITE, short)
    other = train(tiny_reader(), TEXT, SITE, replace(short, seed=4))
    assert not torch.equal(one[0].W_dec, other[0].W_dec)


def test_the_learning_rate_rises_stays_and_falls_to_0() -> None:
    recipe = Recipe(tokens=1000, learning_rate=1.0)
    rates = [recipe.rate_at(seen) for seen in (0, 10, 20, 500, 750, 875, 1000)]
    assert rates[0] < rates[1] < rates[2] == 1.0 == rates[3] == rates[4]
    assert rates[5] == pytest.approx(0.5)
    assert rates[6] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k is 0; expected more than 0"),
        ({"k": 64}, "k is 64, and there are only 64 features"),
        ({"k": 17}, "more than the 16 dimensions"),
        ({"buffer": 100}, "less than a batch of 200"),
        ({"cap": 0.1}, "expected a share between 0 and 1, with batchtopk"),
        ({"kind": "batchtopk", "cap": 1.5}, "cap is 1.5"),
        ({"nested": (32, 16)}, "expected rising numbers of features below 64"),
        ({"nested": (64,)}, "expected rising numbers of features below 64"),
        ({"batch": 100_000, "buffer": 200_000}, "tokens of text are less than a batch"),
    ],
)
def test_a_recipe_that_cannot_work_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        train(tiny_reader(), TEXT, SITE, replace(RECIPE, **change))


def test_products_are_put_back_to_what_they_were() -> None:
    before = torch.backends.cuda.matmul.fp32_precision
    with fast_products():
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    assert torch.backends.cuda.matmul.fp32_precision == before


def test_a_transcoder_of_an_mlp_is_learned_from_what_goes_in_and_what_comes_out() -> None:
    site = Sites("mlp_in", (1,), "mlp_out")
    recipe = replace(RECIPE, kind="batchtopk", k=12)
    (trainee,) = train(tiny_reader(), TEXT, site, recipe).values()
    held_out = gather(tiny_reader(), random_contexts(40, seed=9), "mlp_in", [1], "mlp_out")
    x, wanted = held_out[1]
    assert wanted is not None
    finished = trainee.finished("mlp_in", 1, Origin(), "mlp_out")
    assert fvu(wanted, finished.reconstruct(x)) < 0.7
    (found,) = evaluate(tiny_reader(), {1: finished}, random_contexts(40, seed=9)).values()
    assert found.health.fvu == pytest.approx(fvu(wanted, finished.reconstruct(x)), rel=1e-3)
    assert found.loss.spliced != found.loss.original


def test_text_that_fits_the_buffer_is_read_once() -> None:
    """Every round is another order of the same activations, so nothing is read again."""
    reader, reads = tiny_reader(), []
    layers = reader.model.get_submodule("model.layers")
    handle = layers[0].register_forward_hook(lambda *_: reads.append(1))
    try:
        train(reader, TEXT, SITE, replace(RECIPE, buffer=1_000_000, tokens=10_000))
    finally:
        handle.remove()
    assert len(reads) == 1
