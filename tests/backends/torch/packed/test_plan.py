"""What rows are is said around a layer's call, and holds there only."""

from contextlib import suppress

import pytest
import torch

from sonde.backends.torch.packed.plan import (
    KeysValues,
    RowPlan,
    UnsupportedAttention,
    block_size,
    current,
    using,
)


def test_a_plan_holds_inside_its_block_and_nowhere_else() -> None:
    outer, inner = RowPlan({}, [], 1, None), RowPlan({}, [], 2, None)
    with using(outer):
        with suppress(ZeroDivisionError), using(inner):
            assert current() is inner
            raise ZeroDivisionError
        assert current() is outer
    with pytest.raises(UnsupportedAttention, match="outside Sonde's engine"):
        current()


def test_a_suffix_follows_its_prefix() -> None:
    one = KeysValues(torch.zeros(2, 1, 3), torch.zeros(2, 1, 4))
    other = KeysValues(torch.ones(5, 1, 3), torch.ones(5, 1, 4))

    both = one.followed_by(other)

    assert both.keys[:, 0, 0].tolist() == [0, 0, 1, 1, 1, 1, 1]
    assert both.values.shape == (7, 1, 4)


@pytest.mark.parametrize(
    ("device", "n_tokens", "size"),
    [("cpu", 5, 16), ("cpu", 500, 16), ("cuda", 5, 16), ("cuda", 17, 32), ("cuda", 65, 128)],
)
def test_a_gpu_has_one_block_for_a_prompt_and_a_cpu_blocks_of_16(
    device: str, n_tokens: int, size: int
) -> None:
    assert block_size(torch.device(device), n_tokens) == size
