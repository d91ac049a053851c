"""Many prompts at once say what one prompt says by the slower, exact way."""

import pytest
import torch
from torch import Tensor

from sonde.backends.base import FromVector, Row, logprobs_of, write_at
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.reading import Reader, Splice
from sonde.errors import LayerOutOfRange, UnknownHook
from sonde.schema import LAYER_HOOKS, Hook
from tests.architectures import ARCHITECTURES
from tests.backends.torch.tiny import backend_of, prepared, prompt, scores, vector
from tests.tiny_model import tiny_llama

PROMPTS = [prompt(12, seed) for seed in range(3)]
IDS = torch.tensor(PROMPTS)


@pytest.fixture(scope="module")
def backend() -> TorchBackend:
    return backend_of(tiny_llama(layers=3))


@pytest.fixture(scope="module")
def reader(backend: TorchBackend) -> Reader:
    return backend.reader


@pytest.mark.parametrize("hook", LAYER_HOOKS)
def test_activations_are_those_of_the_packed_path(
    backend: TorchBackend, reader: Reader, hook: Hook
) -> None:
    read = reader.activations(IDS, hook, [2, 0])
    assert sorted(read) == [0, 2]
    for row, tokens in enumerate(PROMPTS):
        (trace,) = backend._path.record([tokens], [hook])
        for layer in (0, 2):
            torch.testing.assert_close(
                read[layer][row], trace.at(hook)[layer], rtol=1e-4, atol=1e-5
            )


def test_what_comes_after_a_prompt_does_not_change_it(reader: Reader) -> None:
    padded = torch.nn.functional.pad(IDS, (0, 4))
    read = reader.activations(padded, "post_block", [2])[2][:, : IDS.shape[1]]
    torch.testing.assert_close(
        read, reader.activations(IDS, "post_block", [2])[2], rtol=1e-4, atol=1e-5
    )


def test_cross_entropy_is_minus_the_log_probability_of_the_next_token(
    backend: TorchBackend, reader: Reader
) -> None:
    loss = reader.cross_entropy(IDS)
    assert loss.shape == (3, 11)
    for row, tokens in enumerate(PROMPTS):
        for n in (1, 5, 11):
            expected = backend.baselines([(tokens[:n], logprobs_of([tokens[n]]))], ())[0][0]
            assert float(loss[row, n - 1]) == pytest.approx(-expected, abs=1e-4)


@pytest.mark.parametrize(
    ("name", "hook"),
    [
        (name, hook)
        for name in ("llama", "neox_parallel", "gemma2")
        for hook in LAYER_HOOKS
        if hook in ARCHITECTURES[name].hooks
    ],
)
def test_a_splice_is_a_patch(name: str, hook: Hook) -> None:
    """Written at one position, it moves the next token's log-probability as a sweep's cell does."""
    backend, _ = prepared(name)
    tokens, values = PROMPTS[0][:-1], vector(backend.describe().width)

    def write(activations: Tensor) -> Tensor:
        out = activations.clone()
        out[0, 4] = torch.from_numpy(values)
        return out

    spliced = backend.reader.cross_entropy(IDS[:1], Splice(hook, 0, write))
    row = Row((write_at(hook, 0, 4, FromVector(values)),))
    expected = scores(backend, tokens, [row], [PROMPTS[0][-1]])[0, 0]
    assert float(spliced[0, -1]) == pytest.approx(-expected, abs=2e-3)
    assert float(spliced[0, -1]) != pytest.approx(
        float(backend.reader.cross_entropy(IDS[:1])[0, -1])
    )


def test_layers_whose_output_is_known_are_not_run_again(reader: Reader) -> None:
    known = reader.activations(IDS, "post_block", [1])[1]
    doubled = Splice("post_block", 1, lambda x: 2 * x)
    expected = reader.cross_entropy(IDS, doubled)
    ran: list[int] = []
    handle = reader.model.model.layers[0].mlp.register_forward_hook(lambda *_: ran.append(0))
    again = reader.cross_entropy(IDS, doubled, known)
    handle.remove()
    assert ran == []
    torch.testing.assert_close(again, expected, rtol=1e-5, atol=1e-5)
    assert "forward" not in vars(reader.model.model.layers[0])


def test_reading_leaves_the_backend_as_it_was(backend: TorchBackend, reader: Reader) -> None:
    before = backend.baselines([(PROMPTS[0], logprobs_of([7]))], ())
    reader.activations(IDS, "mlp_out", [1])
    reader.cross_entropy(IDS, Splice("post_block", 0, torch.zeros_like))
    backend.forget()
    assert backend.baselines([(PROMPTS[0], logprobs_of([7]))], ()) == before


def test_a_hook_or_layer_that_is_not_there_is_refused(reader: Reader) -> None:
    with pytest.raises(LayerOutOfRange):
        reader.activations(IDS, "post_block", [3])
    parallel = prepared("neox_parallel")[0].reader
    with pytest.raises(UnknownHook):
        parallel.activations(IDS, "post_attn", [0])


def test_logits_of_a_final_residual_are_the_models(reader: Reader) -> None:
    last = reader.activations(IDS, "post_block", [2])[2][:, -1]
    loss = torch.log_softmax(reader.logits(last), -1)
    assert loss.shape == (3, 329)
    with_next = torch.cat([IDS, torch.tensor([[5], [6], [7]])], 1)
    expected = reader.cross_entropy(with_next)[:, -1]
    torch.testing.assert_close(-loss[range(3), [5, 6, 7]], expected, rtol=1e-4, atol=1e-4)


def test_texts_become_tokens_without_special_ones_and_pieces_show_those_by_name(
    reader: Reader,
) -> None:
    assert reader.tokens_of([]) == []
    (ids,) = reader.tokens_of(["The Eiffel Tower"])
    assert "".join(reader.pieces(ids)) == "The Eiffel Tower"
    assert reader.pieces([0]) == ["<|end|>"]
