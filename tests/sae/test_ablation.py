"""Removing a feature: what is subtracted, and what that does."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sonde.backends.base import FromVector, Patch, Row
from sonde.errors import BadRequest
from sonde.sae.ablation import ablate, contribution, look, random_like, strongest
from sonde.schema.ablation import Ablation
from tests.backends.torch.tiny import backend_of
from tests.sae.reading import WIDTH, mirror
from tests.tiny_model import tiny_llama

TOKENS = [5, 40, 7, 90, 12, 33]
ANSWER = 21
BACKEND = backend_of(tiny_llama())


def removed(**options: object) -> Ablation:
    return ablate(BACKEND, BACKEND.reader, mirror(0), TOKENS, ANSWER, layer=0, **options)  # type: ignore[arg-type]


def zeroed(position: int, dimension: int, pair: list[int]) -> float:
    """The logit difference with one dimension of one position at zero, as a sweep would do it."""
    mask = np.zeros(WIDTH, np.float32)
    mask[dimension] = 1
    zeros = FromVector(np.zeros(WIDTH, np.float32))
    patch = Patch("post_block", 0, position, zeros, 1.0, mask)
    [scores] = BACKEND.score(TOKENS, [Row((patch,))], pair)
    return float(scores.logprobs[0, 0] - scores.logprobs[0, 1])


def test_removing_a_dimension_is_setting_it_to_zero() -> None:
    """The mirror's features are the dimensions, so the effect is known from another patch."""
    found = removed()
    assert found.features
    checked = 0
    for each in found.features:
        for position, effect in enumerate(each.effects):
            if effect is not None:
                other = zeroed(position, each.feature % WIDTH, [ANSWER, found.foil_id])
                assert found.baseline + effect == pytest.approx(other, abs=1e-5)
                checked += 1
    assert checked > len(found.features)


def test_the_baseline_is_the_unpatched_prompt_and_the_control_changes_nothing() -> None:
    found = removed()
    [[answer, foil]] = BACKEND.baselines([TOKENS], [ANSWER, found.foil_id], [])
    assert found.baseline == pytest.approx(answer - foil, abs=1e-6)
    assert found.logprob == pytest.approx(answer, abs=1e-6)
    assert found.control == pytest.approx(0, abs=1e-5)
    assert found.foil_id != ANSWER


def test_position_0_is_left_alone_and_silent_positions_have_no_effect() -> None:
    for each in removed().features:
        assert each.effects[0] is None
        assert [effect is None for effect in each.effects] == [a == 0 for a in each.activations]


def test_what_is_subtracted_is_what_the_feature_adds_to_the_reconstruction() -> None:
    autoencoder = mirror(0)
    site = look(BACKEND.reader, autoencoder, TOKENS, 0)
    feature = strongest(site, 1)[0]
    for position, added in contribution(site, autoencoder, feature).items():
        value = site.activations[position] @ autoencoder.W_enc[:, feature]
        assert torch.allclose(added, value * autoencoder.W_dec[feature], atol=1e-5)


def test_a_dictionary_that_normalises_subtracts_in_the_model_s_own_units() -> None:
    autoencoder = replace(mirror(0), norm_in="unit_norm")
    site = look(BACKEND.reader, autoencoder, TOKENS, 0)
    for position, added in contribution(site, autoencoder, strongest(site, 1)[0]).items():
        dimension = int(added.abs().argmax())
        assert added[dimension] == pytest.approx(float(site.activations[position, dimension]))


def test_random_directions_are_as_long_as_what_was_removed() -> None:
    piece = {1: torch.tensor([3.0, 4.0]), 4: torch.tensor([0.0, 2.0])}
    sham = random_like(piece, torch.Generator().manual_seed(0))
    assert {at: float(v.norm()) for at, v in sham.items()} == pytest.approx({1: 5.0, 4: 2.0})
    assert torch.allclose(sham[1] / 5, sham[4] / 2)


def test_p_counts_the_random_directions_that_do_as_much() -> None:
    for each in removed(draws=9).features:
        as_much = sum(abs(change) >= abs(each.everywhere) for change in each.random)
        assert len(each.random) == 9
        assert each.p == (1 + as_much) / 10


def test_the_same_seed_draws_the_same_directions() -> None:
    one, again, other = removed(seed=1), removed(seed=1), removed(seed=2)
    assert one == again
    assert one.features[0].random != other.features[0].random


def silent_feature() -> int:
    site = look(BACKEND.reader, mirror(0), TOKENS, 0)
    return next(f for f in range(2 * WIDTH) if not contribution(site, mirror(0), f))


def test_a_feature_that_is_not_active_is_named_beside_those_that_are() -> None:
    active = strongest(look(BACKEND.reader, mirror(0), TOKENS, 0), 1)
    found = removed(features=[silent_feature(), *active])
    assert found.silent == [silent_feature()]
    assert [each.feature for each in found.features] == active
    assert removed().silent == []


def test_where_none_is_active_it_is_refused_with_those_that_are() -> None:
    silent = silent_feature()
    with pytest.raises(BadRequest, match=rf"features \[{silent}\] .* strongest at its end are \["):
        removed(features=[silent])


def test_one_token_and_transcoders_are_refused() -> None:
    with pytest.raises(BadRequest, match="attention sink"):
        look(BACKEND.reader, mirror(0), [3], 0)
    with pytest.raises(BadRequest, match="transcoder"):
        look(BACKEND.reader, replace(mirror(0), hook_out="mlp_out"), TOKENS, 0)
