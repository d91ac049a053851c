"""Packed attention is plain attention over each cell's own keys, whatever the layer's style."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sonde.backends.torch.packed.attention import attend
from sonde.backends.torch.packed.plan import (
    KeysKnown,
    KeysValues,
    RowPlan,
    UnsupportedAttention,
    block_size,
    using,
)
from sonde.backends.torch.packed.segments import Segments

CPU = torch.device("cpu")
HEADS, KV_HEADS, WIDTH, TOKENS = 4, 2, 8, 21
STARTS = [0, 5, 16, 20, 5]
STYLES: dict[str, dict[str, Any]] = {
    "plain": {},
    "scaled": {"scaling": 0.7},
    "window": {"sliding_window": 6},
    "softcap": {"softcap": 2.0},
    "sinks": {"s_aux": torch.linspace(-1, 1, HEADS)},
    "all": {"sliding_window": 3, "softcap": 2.0, "s_aux": torch.linspace(-1, 1, HEADS)},
}


class Setting:
    """Cells with random queries, keys and values over one random unpatched run."""

    def __init__(self, starts: list[int]) -> None:
        draw = torch.Generator().manual_seed(3)
        self.module = nn.Identity()
        self.segments = Segments(
            starts, [TOKENS] * len(starts), block=block_size(CPU, TOKENS), device=CPU
        )
        self.prefix = KeysValues(*(self._random(draw, TOKENS, KV_HEADS) for _ in range(2)))
        # every position of every cell has its own numbers, whichever cells are asked for
        table = [self._random(draw, 21 * TOKENS, h) for h in (HEADS, KV_HEADS, KV_HEADS)]
        index = [s * TOKENS + p for s in starts for p in range(s, TOKENS)]
        self.query, self.key, self.value = (t[index] for t in table)

    @staticmethod
    def _random(draw: torch.Generator, rows: int, heads: int) -> Tensor:
        return torch.randn(rows, heads, WIDTH, generator=draw)

    def plan(self, **options: Any) -> RowPlan:
        n = len(self.segments.first)
        blocks = self.segments.blocks(n)
        return RowPlan({id(self.module): 0}, blocks, self.segments.n_rows, [self.prefix], **options)

    def run(self, plan: RowPlan, **style: Any) -> Tensor:
        q, k, v = (t.transpose(0, 1)[None] for t in (self.query, self.key, self.value))
        with using(plan):
            return attend(self.module, q, k, v, None, **style)[0][0]


def dense(setting: Setting, style: dict[str, Any]) -> Tensor:
    """One query at a time, written out."""
    out = torch.zeros_like(setting.query)
    group = HEADS // KV_HEADS
    for cell, start in enumerate(setting.segments.first.tolist()):
        first = setting.segments.row(cell, start)
        own = slice(first, first + TOKENS - start)
        keys = torch.cat([setting.prefix.keys[:start], setting.key[own]])
        values = torch.cat([setting.prefix.values[:start], setting.value[own]])
        for position in range(start, TOKENS):
            row = setting.segments.row(cell, position)
            low = max(0, position + 1 - style.get("sliding_window", TOKENS))
            for head in range(HEADS):
                k, v = (
                    keys[low : position + 1, head // group],
                    values[low : position + 1, head // group],
                )
                score = k @ setting.query[row, head] * style.get("scaling", 1 / math.sqrt(WIDTH))
                if "softcap" in style:
                    score = torch.tanh(score / style["softcap"]) * style["softcap"]
                sink = style["s_aux"][head : head + 1] if "s_aux" in style else score[:0]
                weights = torch.softmax(torch.cat([score, sink]), 0)[: len(score)]
                out[row, head] = weights @ v
    return out


@pytest.mark.parametrize("name", STYLES)
def test_packed_attention_equals_attention_written_out(name: str) -> None:
    setting = Setting(STARTS)

    found = setting.run(setting.plan(), **STYLES[name])

    torch.testing.assert_close(found, dense(setting, STYLES[name]), rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", STYLES)
def test_a_cell_attends_with_the_same_bits_alone_and_among_others(name: str) -> None:
    together = Setting(STARTS)
    mixed = together.run(together.plan(), **STYLES[name])
    for cell, start in enumerate(STARTS):
        alone = Setting([start])
        first = together.segments.row(cell, start)
        expected = mixed[first : first + TOKENS - start]
        assert alone.run(alone.plan(), **STYLES[name]).equal(expected)


def test_rows_beyond_the_packing_come_out_as_zeros() -> None:
    setting = Setting([18])
    padding = [
        torch.cat([t, t.new_ones(4, *t.shape[1:])])
        for t in (setting.query, setting.key, setting.value)
    ]
    setting.query, setting.key, setting.value = padding

    assert setting.run(setting.plan())[3:].eq(0).all()


def test_rows_that_attention_cannot_change_take_the_given_output() -> None:
    setting = Setting([18])
    given = torch.arange(2.0 * HEADS * WIDTH).view(2, -1)
    plan = setting.plan(fixed_rows=torch.tensor([0, 2]), fixed_outputs={0: given})

    out = setting.run(plan).flatten(1)

    assert out[[0, 2]].equal(given)
    assert not out[1].equal(given[0])


def test_keys_can_come_from_an_earlier_call() -> None:
    setting = Setting(STARTS)
    expected = setting.run(setting.plan())
    earlier = {0: KeysValues(setting.key, setting.value)}
    setting.key, setting.value = torch.zeros_like(setting.key), torch.zeros_like(setting.value)

    assert setting.run(setting.plan(keys_from=earlier)).equal(expected)


def test_a_layer_can_be_left_once_its_keys_are_known() -> None:
    setting = Setting(STARTS)
    plan = setting.plan(only_keys=True)

    with pytest.raises(KeysKnown):
        setting.run(plan)
    assert plan.recorded[0].keys.equal(setting.key)


def test_outputs_and_callers_are_noted_when_asked_for() -> None:
    setting = Setting(STARTS)
    plan = setting.plan(outputs={}, record=True)

    out = setting.run(plan)

    assert plan.outputs is not None
    assert plan.outputs[0].equal(out.flatten(1))
    assert plan.recorded[0].values.equal(setting.value)
    assert plan.callers == {id(setting.module)}


def test_attention_outside_the_engine_is_refused() -> None:
    one = torch.zeros(1, HEADS, 3, WIDTH)
    with pytest.raises(UnsupportedAttention, match="outside Sonde's engine"):
        attend(nn.Identity(), one, one, one, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention_mask": torch.zeros(1)}, "a mask of its own"),
        ({"position_bias": torch.zeros(1)}, "position_bias"),
    ],
)
def test_what_it_does_not_understand_is_refused_by_name(options: Any, message: str) -> None:
    setting = Setting([18])
    q, k, v = (t.transpose(0, 1)[None] for t in (setting.query, setting.key, setting.value))
    with pytest.raises(UnsupportedAttention, match=message), using(setting.plan()):
        attend(setting.module, q, k, v, **{"attention_mask": None, **options})


def test_options_without_a_value_are_harmless() -> None:
    setting = Setting([18])

    assert setting.run(setting.plan(), head_mask=None, dropout=0.0).shape[0] == 3
