"""One pass with its graph kept: it says what the model says, and every part is seen apart."""

import pytest
import torch

from sonde.backends.base import Column, Readout
from sonde.backends.torch.gradient import attention, forward, slopes
from sonde.backends.torch.packed.plan import UnsupportedAttention
from sonde.backends.torch.packed.readouts import Distribution
from tests.architectures import PACKED, WHOLE
from tests.backends.torch.tiny import IDS, prepared, prompt

READOUT = Readout((Column("logprob", IDS[0]), Column("logit", IDS[1])))


def never(_tokens: tuple[int, ...]) -> Distribution:
    raise AssertionError("no divergence was asked for")


@pytest.mark.parametrize("name", [*PACKED, *WHOLE])
def test_the_pass_says_what_the_model_says(name: str) -> None:
    backend, _ = prepared(name)
    tokens = prompt(9, 4)
    path = backend._current()
    passed = forward.run(path, tokens, forward.entering(path, tokens), [])
    columns = forward.read(path, passed.final, READOUT, len(tokens), never)
    [expected] = backend.baselines([(tokens, READOUT)], [])
    assert [float(column.detach()[0]) for column in columns] == pytest.approx(expected, abs=1e-4)


def test_several_points_are_run_as_if_each_were_alone() -> None:
    backend, _ = prepared("gemma3")
    path, tokens = backend._current(), prompt(9, 4)
    starts = torch.cat([forward.entering(path, each) for each in (tokens, prompt(9, 5))])
    both = forward.run(path, tokens, starts, [("z", 1)])
    alone = forward.run(path, tokens, starts[1:], [("z", 1)])
    torch.testing.assert_close(both.final[1:], alone.final)
    torch.testing.assert_close(both.at["z", 1][1:], alone.at["z", 1])


def test_what_one_module_receives_is_noted_apart_from_the_stream() -> None:
    """A residual is read by the MLP's norm and added to what the MLP gives: two ways back."""
    backend, _ = prepared()
    path, tokens = backend._current(), prompt(9, 4)
    tap = path.layout.sites[1].tap("post_attn")
    place: forward.HookAt = ("mlp_in", 99)
    passed = forward.run(
        path, tokens, forward.entering(path, tokens), [("post_attn", 1), ("post_block", 1)],
        [(place, tap)],
    )  # fmt: skip
    [value, _] = forward.read(path, passed.final, READOUT, 9, never)
    whole, after, branch = passed.gradients(
        value.sum(), [("post_attn", 1), ("post_block", 1), place], keep=False
    )
    torch.testing.assert_close(whole, after + branch)


def test_attention_outside_of_a_pass_is_refused() -> None:
    nothing = torch.zeros(1, 1, 1, 1)
    with pytest.raises(UnsupportedAttention):
        attention.attend(torch.nn.Identity(), nothing, nothing, nothing, None)


def test_without_a_weight_a_sum_is_nothing() -> None:
    assert float(slopes.weighted([torch.ones(2), torch.ones(2)], [0.0, 0.5])) == 1.0
    assert not slopes.weighted([torch.ones(2, requires_grad=True)], [0.0]).requires_grad
