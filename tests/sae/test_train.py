"""Training on a tiny model: it learns, reports, stops and goes on with the same bits."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sonde.errors import BadRequest
from sonde.sae import training_state
from sonde.sae.autoencoder import Origin
from sonde.sae.buffer import gather
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
            held_out[layer],
            trainee.finished("post_block", layer, Origin()).reconstruct(held_out[layer]),
        )
        assert share < 0.5
        assert told[-1].layers[layer].fvu < 0.6 * told[0].layers[layer].fvu
        assert told[-1].layers[layer].l0 <= RECIPE.k
    assert told[-1].tokens == told[-1].total == RECIPE.tokens
    assert told[-1].seconds_left == 0
    assert told[0].seconds_left > 0


def test_a_run_that_was_stopped_goes_on_with_the_bits_it_would_have_had(tmp_path: Path) -> None:
    """Stopped in the third round, after the second was saved."""
    whole = train(tiny_reader(), TEXT, SITE, RECIPE)

    def stop(now: Progress) -> None:
        if now.tokens > 3000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(
            tiny_reader(), TEXT, SITE, RECIPE,
            state=tmp_path, save_every=0, report=stop, report_every=0,
        )  # fmt: skip
    saved = training_state.load(tmp_path, _said(RECIPE), torch.device("cpu"))
    assert saved is not None
    assert 0 < saved.tokens < RECIPE.tokens
    told: list[Progress] = []
    resumed = train(
        tiny_reader(), TEXT, SITE, RECIPE, state=tmp_path, report=told.append, report_every=0
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
        ({"batch": 100_000, "buffer": 200_000}, "tokens of text are less than a batch"),
    ],
)
def test_a_recipe_that_cannot_work_is_refused(change: dict[str, int], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        train(tiny_reader(), TEXT, SITE, replace(RECIPE, **change))


def test_products_are_put_back_to_what_they_were() -> None:
    before = torch.backends.cuda.matmul.fp32_precision
    with fast_products():
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    assert torch.backends.cuda.matmul.fp32_precision == before
