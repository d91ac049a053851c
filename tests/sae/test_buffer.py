"""Which activations are read: never position 0, padding or a sink."""

import torch

from sonde.sae.buffer import CPU_TOKENS, SINK, counts, gather, passes
from sonde.sae.corpus import Contexts
from tests.sae.reading import WIDTH, random_contexts, tiny_reader

CPU = torch.device("cpu")


def test_position_0_and_padding_never_count() -> None:
    contexts = random_contexts(8)
    read = tiny_reader().activations(contexts.ids, "post_block", [1])[1]
    chosen = counts(read, contexts.lengths)
    assert not chosen[:, 0].any()
    for row, length in zip(chosen, contexts.lengths.tolist(), strict=True):
        assert row[1:length].all()
        assert not row[length:].any()


def test_an_activation_far_longer_than_the_median_is_a_sink_wherever_it_is() -> None:
    activations = torch.ones(2, 10, WIDTH)
    activations[1, 4] *= 1.01 * SINK
    activations[0, 3] *= 0.99 * SINK
    chosen = counts(activations, torch.tensor([10, 10]))
    assert not chosen[1, 4]
    assert chosen[0, 3]
    assert int(chosen.sum()) == 17


def test_contexts_of_one_token_have_nothing_to_read() -> None:
    assert not counts(torch.ones(2, 3, WIDTH), torch.tensor([1, 1])).any()


def test_passes_hold_every_context_once_cut_to_the_longest() -> None:
    contexts = random_contexts(2 * CPU_TOKENS // 24)
    parts = list(passes(contexts, CPU))
    assert len(parts) > 1
    assert sum(map(len, parts)) == len(contexts)
    assert all(part.ids.numel() <= CPU_TOKENS for part in parts)
    short = Contexts(contexts.ids[:4], torch.tensor([5, 6, 7, 3]))
    (only,) = passes(short, CPU)
    assert only.ids.shape == (4, 7)


def test_gathered_activations_are_those_that_count_in_order() -> None:
    contexts, reader = random_contexts(6), tiny_reader()
    read = gather(reader, contexts, "mlp_out", [0, 1])
    expected = reader.activations(contexts.ids, "mlp_out", [0, 1])
    for layer in (0, 1):
        chosen = counts(expected[layer], contexts.lengths)
        x, wanted = read[layer]
        torch.testing.assert_close(x, expected[layer][chosen])
        assert len(x) == contexts.n_tokens
        assert wanted is None


def test_what_a_transcoder_should_say_is_of_the_same_tokens() -> None:
    contexts, reader = random_contexts(6), tiny_reader()
    x, wanted = gather(reader, contexts, "mlp_in", [1], "mlp_out")[1]
    said = reader.activations(contexts.ids, "mlp_out", [1])[1]
    chosen = counts(reader.activations(contexts.ids, "mlp_in", [1])[1], contexts.lengths)
    assert wanted is not None
    torch.testing.assert_close(wanted, said[chosen])
    assert len(x) == len(wanted)
