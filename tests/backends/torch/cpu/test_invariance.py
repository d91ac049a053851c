"""Which products are batch-invariant: all of the engine's; and one that is not."""

from collections import Counter
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from sonde.backends.torch.cpu import instruction_sets, invariance
from sonde.backends.torch.cpu.invariance import Trial, drawn, rows_hold, trials
from sonde.backends.torch.packed.attention import attention_by_hand
from tests.children import intel_pretence, python

WHICH = """
import sonde, torch
from sonde.backends.torch.cpu.invariance import trials
print(*[each.kind for each in trials([torch.float32]) if not each.holds])
"""


def test_every_float32_product_keeps_its_bits_here() -> None:
    found = list(trials([torch.float32]))

    assert [each for each in found if not each.holds] == []
    assert set(Counter(each.kind for each in found)) >= {
        "linear", "unembedding", "experts", "attention", "attention, far",
    }  # fmt: skip


def test_half_precision_is_tried_too() -> None:
    """Whether it holds is this machine's matter: a model says so when it is loaded."""
    instruction_sets.make_safe(low=True)
    found = list(trials([torch.bfloat16]))

    assert {each.dtype for each in found} == {"bfloat16"}
    assert {type(each) for each in found} == {Trial}


def test_a_product_that_looks_at_the_rows_beside_is_found_out() -> None:
    weight = drawn(torch.float32, 32, 48, seed=1)

    def meddling(rows: torch.Tensor) -> torch.Tensor:
        return F.linear(rows, weight) + 1e-7 * rows.shape[0]

    assert rows_hold(lambda rows: F.linear(rows, weight), weight, 16)
    assert not rows_hold(meddling, weight, 16)


def test_attention_that_looks_beside_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = (torch.float32, 4, 2, 8, 32)
    assert invariance.attention_holds(*shape)
    monkeypatch.setattr(
        invariance,
        "attention_by_hand",
        lambda q, *rest: attention_by_hand(q, *rest) + 1e-6 * q.shape[2],
    )
    assert not invariance.attention_holds(*shape)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "holds"), [("", False), (None, True)])
def test_on_an_intel_cpu_the_reproducible_mode_is_what_keeps_them(
    mode: str | None, holds: bool, tmp_path: Path
) -> None:
    """The reason for it all: without the mode, MKL's small products for Intel's CPUs do not."""
    pretence = intel_pretence(tmp_path)
    if "AVX-512" not in instruction_sets.cpu().sets:
        pytest.skip("the kernels in question are AVX-512's")
    done = python("-c", WHICH, extra={**pretence, "MKL_CBWR": mode})

    assert done.returncode == 0, done.stderr
    assert ("attention" not in done.stdout.split()) == holds
