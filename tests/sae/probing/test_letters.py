"""Splitting and absorption of letters that were planted, and the words that are asked."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from sonde.sae.activations import Relu
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.probing import linear
from sonde.sae.probing.letters import alphabetic, first_letters, judge_letters, main_features
from tests.sae.reading import mirror, tiny_reader

WORDS, LETTERS = 240, 3
BEGINS = torch.arange(WORDS) % LETTERS
HELD = torch.arange(WORDS) // LETTERS % 3 == 2
YES = torch.nn.functional.one_hot(BEGINS, 26) > 0


OWN = ((BEGINS == 0) & (torch.arange(WORDS) // LETTERS % 4 == 0)).nonzero()[:, 0].tolist()
"""Words of the first letter, each of which has a feature of its own."""
WIDTH = LETTERS + len(OWN)


def activations() -> Tensor:
    """A dimension for each letter, one for each of those words, and a little noise."""
    draw = torch.Generator().manual_seed(0)
    x = 0.01 * torch.randn(WORDS, WIDTH, generator=draw)
    x[torch.arange(WORDS), BEGINS] += 1
    x[OWN, torch.arange(LETTERS, WIDTH)] += 1
    return x


def dictionary(*, absorbs: bool) -> Autoencoder:
    """A feature a dimension; with `absorbs`, a word's feature says the letter, and that is silent.

    The words' features say enough of the letter to make up most of it, and point along it.
    """
    W_enc, W_dec = torch.eye(WIDTH), torch.eye(WIDTH)
    if absorbs:
        W_enc[LETTERS:, 0] = -2.0
        W_dec[LETTERS:, 0] = 1.0
    bias = torch.full((WIDTH,), -0.3)
    return Autoencoder(W_enc, bias, W_dec, torch.zeros(WIDTH), Relu(), hook="post_block", layer=0)


def test_what_another_feature_took_over_is_absorbed() -> None:
    x = activations()
    probe = linear.fit(x[~HELD], YES[~HELD])
    plain = judge_letters(dictionary(absorbs=False), x, YES, HELD, probe)
    assert (plain.letters, plain.words) == (3, int(HELD.sum()))
    assert plain.probe_f1 == pytest.approx(1, abs=0.02)
    assert (plain.feature_f1, plain.split, plain.absorbed) == (1, 1, 0)
    found = judge_letters(dictionary(absorbs=True), x, YES, HELD, probe)
    own = torch.zeros(WORDS, dtype=torch.bool)
    own[OWN] = True
    chosen = HELD & (BEGINS == 0)
    share = float((chosen & own).sum() / chosen.sum())
    assert 0 < share < 1
    assert found.split == 1
    assert found.absorbed == pytest.approx(share / 3), "one letter of three"


def test_a_letter_in_two_halves_is_split_over_two_features() -> None:
    draw = torch.Generator().manual_seed(0)
    yes = torch.arange(400) % 2 == 0
    half = torch.rand(400, generator=draw) > 0.5
    dense = torch.rand(400, 12, generator=draw) * 0.1
    dense[:, 5] += (yes & half).float()
    dense[:, 9] += (yes & ~half).float()
    held = torch.arange(400) % 3 == 2
    main, single = main_features(dense, yes, held)
    assert sorted(main) == [5, 9]
    assert 0.5 < single < 0.9


def test_words_are_letters_after_a_space_and_spread_over_the_vocabulary() -> None:
    words = alphabetic(tiny_reader(), 50)
    assert len(words) == len(set(words)) <= 50
    assert all(word[0] == " " and word[1:].isalpha() and word[1:].isascii() for word in words)


def test_a_transcoder_is_left_out_and_dictionaries_of_one_layer_share_what_is_read() -> None:
    reader = tiny_reader()
    transcoder = replace(mirror(0), hook="mlp_in", hook_out="mlp_out")
    one, none, other = first_letters(reader, [(0, mirror(0)), (0, transcoder), (0, mirror(0))], 200)
    assert none is None
    assert one == other
    assert one is not None
