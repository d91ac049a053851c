"""What is said about a feature is so: where it peaks, how often, and what it promotes."""

import pytest
import torch

from sonde.sae.activations import Relu
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.corpus import Contexts
from sonde.sae.features import (
    HIGHEST,
    SNIPPETS,
    SUPPRESSED,
    average_final,
    describe,
    neighbours,
    promoted_tokens,
)
from sonde.sae.habits import read_habits
from sonde.sae.peaks import AFTER, BEFORE, CHOSEN, TOP, find_peaks
from tests.sae.reading import WIDTH, mirror, random_contexts, tiny_reader

TEXT = random_contexts(60)


def test_a_snippet_is_where_the_feature_is_most_active() -> None:
    """The mirror's feature d is dimension d, so its peak is that dimension's largest value."""
    reader = tiny_reader()
    read = reader.activations(TEXT.ids, "post_block", [1])[1]
    inside = torch.arange(24)[None] < TEXT.lengths[:, None]
    inside[:, 0] = False
    features = describe(reader, mirror(), 1, TEXT)
    assert [each.feature for each in features] == list(range(2 * WIDTH))
    for dimension in (0, 5, 11):
        values = read[..., dimension].masked_fill(~inside, -torch.inf)
        context, position = divmod(int(values.argmax()), 24)
        best = features[dimension].snippets[0]
        assert best.value == pytest.approx(float(values.max()), rel=5e-3)
        first, stop = (
            max(0, position - BEFORE),
            min(int(TEXT.lengths[context]), position + 1 + AFTER),
        )
        assert best.tokens == reader.pieces(TEXT.ids[context, first:stop].tolist())
        assert best.heat[position - first] == "9"
        assert len(best.heat) == len(best.tokens)
        active = read[..., dimension][inside] > 0
        assert features[dimension].rate == pytest.approx(float(active.float().mean()), rel=5e-3)


def test_snippets_come_from_different_contexts_strongest_first() -> None:
    peaks = find_peaks(tiny_reader(), mirror(), 1, TEXT)
    for feature in range(2 * WIDTH):
        contexts = [n for n in peaks.contexts[:, feature].tolist() if n >= 0]
        assert len(set(contexts)) == len(contexts)
        values = peaks.values[:, feature].tolist()
        assert values == sorted(values, reverse=True)


def test_peaks_do_not_depend_on_how_the_text_is_parted() -> None:
    reader = tiny_reader()
    many = random_contexts(400)
    whole = find_peaks(reader, mirror(), 1, many)
    order = torch.arange(len(many)).flip(0)
    turned = find_peaks(reader, mirror(), 1, many.take(order))
    torch.testing.assert_close(whole.values, turned.values, rtol=1e-4, atol=1e-4)
    read = reader.activations(many.ids, "post_block", [1])[1]
    at_peaks = read[whole.contexts[:, 3], whole.positions[:, 3], 3]
    torch.testing.assert_close(at_peaks, whole.values[:, 3], rtol=1e-4, atol=1e-4)


def test_equal_snippets_are_shown_once() -> None:
    repeated = Contexts(TEXT.ids[:1].repeat(10, 1), TEXT.lengths[1:2].repeat(10))
    for feature in describe(tiny_reader(), mirror(), 1, repeated):
        assert len(feature.snippets) <= 1
    described = describe(tiny_reader(), mirror(), 1, random_contexts(300))
    assert max(len(each.snippets) for each in described) == SNIPPETS


def test_a_feature_that_is_never_active_is_dead_and_has_no_snippet() -> None:
    held = mirror()
    dead = Autoencoder(
        held.W_enc, held.b_enc - 1e6, held.W_dec, held.b_dec, Relu(), hook="post_block", layer=1
    )
    for feature in describe(tiny_reader(), dead, 1, TEXT):
        assert feature.rate == 0
        assert feature.snippets == []
        assert feature.on == []


def test_a_feature_that_points_at_a_tokens_unembedding_promotes_that_token() -> None:
    """In a direction that only one token's row has, once the norm's scale is undone."""
    reader = tiny_reader()
    rows = reader.model.get_output_embeddings().weight.detach()
    scale = reader.model.model.norm.weight.detach()
    chosen = [40, 200, 310]
    directions = torch.linalg.pinv(rows * scale).T[chosen]
    filler = torch.randn(29, WIDTH, generator=torch.Generator().manual_seed(0))
    held = Autoencoder(
        torch.zeros(WIDTH, 32), torch.zeros(32), torch.cat([directions, filler]),
        torch.zeros(WIDTH), Relu(), hook="post_block", layer=1,
    )  # fmt: skip
    final = average_final(reader, TEXT)
    raised, lowered = (each.tokens for each in promoted_tokens(reader, held, final))
    turned = Autoencoder(
        held.W_enc, held.b_enc, -held.W_dec, held.b_dec, Relu(), hook="post_block", layer=1
    )
    lowered_by_minus = promoted_tokens(reader, turned, final)[1].tokens
    assert torch.equal(raised[:, :SUPPRESSED], lowered_by_minus)
    for feature, token in enumerate(chosen):
        assert token in raised[feature].tolist()
        assert token not in lowered[feature].tolist()


def test_snippets_cover_the_range_and_not_the_top_alone() -> None:
    """The highest peaks, and then peaks down to the lowest, evenly by their rank."""
    reader, many = tiny_reader(), random_contexts(300)
    peaks = find_peaks(reader, mirror(), 1, many)
    read = reader.activations(many.ids, "post_block", [1])[1]
    inside = torch.arange(24)[None] < many.lengths[:, None]
    inside[:, 0] = False
    for feature in (0, 7):
        highest = read[..., feature].masked_fill(~inside, 0.0).amax(1)
        ranked = highest[highest > 0].sort(descending=True).values
        found = peaks.values[:, feature]
        torch.testing.assert_close(found[:TOP], ranked[:TOP], rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(found[-1], ranked[-1], rtol=1e-3, atol=1e-4)
        assert len(set(peaks.contexts[:, feature].tolist())) == CHOSEN
    parts = [each.part for each in describe(reader, mirror(), 1, many)[0].snippets]
    assert parts.count("top") == HIGHEST
    assert {"top", "middle", "low"} >= set(parts) > {"top"}


def test_habits_are_what_counting_by_hand_gives() -> None:
    reader, kinds = tiny_reader(), torch.arange(60) % 2
    text = Contexts(TEXT.ids, TEXT.lengths, kinds)
    habits = read_habits(reader, mirror(), 1, text, 2)
    read = reader.activations(TEXT.ids, "post_block", [1])[1]
    inside = torch.arange(24)[None] < TEXT.lengths[:, None]
    inside[:, 0] = False
    for feature in (0, 5):
        on = (read[..., feature] > 0) & inside
        assert float(habits.rate[feature]) == pytest.approx(
            float(on.sum() / inside.sum()), rel=0.01
        )
        second = on[1::2].sum() / inside[1::2].sum()
        assert float(habits.by_kind[1, feature]) == pytest.approx(float(second), rel=0.01)
        tokens, times = TEXT.ids[on].unique(return_counts=True)
        share = float(times.max() / on.sum())
        assert float(habits.shares["on"][feature, 0]) == pytest.approx(share, rel=0.05)
        assert int(habits.tokens["on"][feature, 0]) in tokens.tolist()


def test_neighbours_are_the_nearest_directions_but_not_oneself() -> None:
    rows = torch.tensor([[1.0, 0.0], [2.0, 0.2], [0.0, 1.0], [-1.0, 0.0]])
    indices, cosines = neighbours(rows)
    assert indices[:, 0].tolist() == [1, 0, 1, 2]
    assert float(cosines[0, 0]) == pytest.approx(2 / (4.04**0.5))
    assert all(i not in row for i, row in enumerate(indices[:, :3].tolist()))
