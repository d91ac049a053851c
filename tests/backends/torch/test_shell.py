"""A model without its layers says what they are called with, and leaves the model alone."""

import pytest
import torch

from sonde.backends.torch.packed.trace import Stepping, Trace, record
from sonde.backends.torch.path import choose_path
from sonde.backends.torch.shell import Calls
from tests.architectures import ARCHITECTURES
from tests.backends.torch.tiny import prompt

NAMES = ["llama", "gemma2", "gpt2", "qwen3_moe"]
"""Rotary tables, two kinds of them, none at all; a mixture of experts."""


@pytest.mark.parametrize("name", NAMES)
def test_layers_called_one_by_one_give_the_run_of_the_model_itself(name: str) -> None:
    path = choose_path(ARCHITECTURES[name].build())
    stepping = Stepping(Calls(path.model, path.layout.tuple_of).of, path.layout.layers)
    prompts = [prompt(9, 1), prompt(19, 2)]

    by_the_model = record(path.model, path.layout, prompts, (), path.shape)
    one_by_one = record(path.model, path.layout, prompts, (), path.shape, stepping)

    for expected, found in zip(by_the_model, one_by_one, strict=True):
        assert found.residuals.equal(expected.residuals)
        assert_same_keys(found, expected)
        assert len(found.calls) == len(expected.calls)


def assert_same_keys(found: Trace, expected: Trace) -> None:
    for one, other in zip(found.keys_values, expected.keys_values, strict=True):
        assert one.keys.equal(other.keys)
        assert one.values.equal(other.values)


def test_what_is_inside_a_layer_is_watched_in_the_models_own_run() -> None:
    path = choose_path(ARCHITECTURES["llama"].build())

    def never(*_args: object) -> tuple[torch.Tensor, list[object]]:
        raise AssertionError

    stepping = Stepping(never, path.layout.layers)  # type: ignore[arg-type]
    (found,) = record(path.model, path.layout, [prompt(9, 1)], ["mlp_out"], path.shape, stepping)

    assert found.inside["mlp_out"].shape == (3, 9, 32)


def test_the_model_keeps_its_layers() -> None:
    model = ARCHITECTURES["llama"].build()
    before = [id(module) for module in model.modules()]

    Calls(model)

    assert [id(module) for module in model.modules()] == before
