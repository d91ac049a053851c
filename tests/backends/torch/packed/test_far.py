"""Queries far into a prompt: plain attention, and the same bits however batched."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sonde.backends.torch.cpu import products
from sonde.backends.torch.packed import segments
from sonde.backends.torch.packed.attention import attend
from sonde.backends.torch.packed.pattern import Pattern
from sonde.backends.torch.packed.plan import (
    FAR,
    FAR_BLOCK,
    Far,
    KeysValues,
    RowPlan,
    Stretch,
    using,
)
from sonde.backends.torch.packed.segments import Segments, whole_prompts
from sonde.backends.torch.packed.style import Style
from sonde.backends.torch.packed.writes import Due, Writes
from tests.architectures import PACKED
from tests.backends.torch.reference import Edit
from tests.backends.torch.tiny import (
    IDS,
    at_most,
    baseline,
    captured,
    from_run,
    pair_of_prompts,
    prepared,
    scores,
    sites,
    tiny_backend,
)

CPU = torch.device("cpu")
TOKENS, WIDTH = FAR + 75, 8
STARTS = [FAR + 70, 5, FAR + 3, FAR - 16, TOKENS - 1, FAR + 64, 5]
HEADS = {"grouped": (4, 2), "ungrouped": (3, 3), "one key head": (2, 1)}
STYLES: dict[str, dict[str, Any]] = {
    "plain": {},
    "scaled": {"scaling": 0.7},
    "window": {"sliding_window": 90},
    "softcap": {"softcap": 2.0},
    "sinks": {"s_aux": torch.linspace(-1, 3, 4)},
    "all": {"sliding_window": 70, "softcap": 2.0, "s_aux": torch.linspace(-1, 3, 4)},
}
CASES = [("grouped", style) for style in STYLES] + [("ungrouped", "plain"), ("one key head", "all")]


class Setting:
    """Cells with random rows over the random unpatched runs of two prompts."""

    def __init__(self, cells: list[tuple[int, int]], heads: str, dtype: torch.dtype) -> None:
        """`cells` are (prompt, first position)."""
        draw = torch.Generator().manual_seed(3)
        self.heads, self.kv_heads = HEADS[heads]
        self.cells, self.module = cells, nn.Identity()

        def random(rows: int, heads: int) -> Tensor:
            return torch.randn(rows, heads, WIDTH, generator=draw).to(dtype)

        self.segments = Segments(
            [start for _, start in cells],
            [TOKENS] * len(cells),
            prefixes=torch.tensor([TOKENS * prompt for prompt, _ in cells]).numpy(),
            n_prefix=2 * TOKENS,
            block=16,
            device=CPU,
        )
        self.prefix = KeysValues(
            random(2 * TOKENS, self.kv_heads), random(2 * TOKENS, self.kv_heads)
        )
        # every position of a cell has its own numbers, whichever cells are asked for
        table = [random(TOKENS * TOKENS, h) for h in (self.heads, self.kv_heads, self.kv_heads)]
        index = [start * TOKENS + p for _, start in cells for p in range(start, TOKENS)]
        self.query, self.key, self.value = (t[index] for t in table)

    def plan(self, **options: Any) -> RowPlan:
        n = len(self.cells)
        blocks = self.segments.blocks(n)
        return RowPlan({id(self.module): 0}, blocks, self.segments.n_rows, [self.prefix], **options)

    def run(self, plan: RowPlan, query: Tensor | None = None, **style: Any) -> Tensor:
        q = self.query if query is None else query
        q, k, v = (t.transpose(0, 1)[None] for t in (q, self.key, self.value))
        if "s_aux" in style:
            style = {**style, "s_aux": style["s_aux"][: self.heads]}
        with using(plan), torch.inference_mode():
            return attend(self.module, q, k, v, None, **style)[0][0]

    def rows(self, cell: int) -> slice:
        return slice(*self.segments.offset[cell : cell + 2].tolist())


def dense(setting: Setting, cell: int, position: int, style: dict[str, Any]) -> Tensor:
    """One query, written out: [heads, width]."""
    prompt, start = setting.cells[cell]
    group = setting.heads // setting.kv_heads
    rows = setting.rows(cell)
    own = slice(rows.start, rows.start + position + 1 - start)
    shared = slice(TOKENS * prompt, TOKENS * prompt + start)
    keys = torch.cat([setting.prefix.keys[shared], setting.key[own]])
    values = torch.cat([setting.prefix.values[shared], setting.value[own]])
    low = max(0, position + 1 - style.get("sliding_window", TOKENS))
    out = []
    for head in range(setting.heads):
        k, v = keys[low:, head // group], values[low:, head // group]
        query = setting.query[rows.start + position - start, head]
        score = k @ query * style.get("scaling", 1 / math.sqrt(WIDTH))
        if "softcap" in style:
            score = torch.tanh(score / style["softcap"]) * style["softcap"]
        sink = style["s_aux"][head : head + 1] if "s_aux" in style else score[:0]
        out.append(torch.softmax(torch.cat([score, sink]), 0)[: len(score)] @ v)
    return torch.stack(out)


BOTH = [(prompt, start) for start in STARTS for prompt in (1, 0)]


@pytest.mark.parametrize(("heads", "name"), CASES)
def test_far_queries_attend_as_written_out(heads: str, name: str) -> None:
    setting, style = Setting(BOTH, heads, torch.float32), STYLES[name]
    found = setting.run(setting.plan(), **style)
    for cell, (_, start) in enumerate(BOTH):
        for position in sorted({start, FAR - 1, FAR, FAR + 63, FAR + 64, TOKENS - 1}):
            if position >= start:
                row = setting.segments.row(cell, position)
                expected = dense(setting, cell, position, style)
                torch.testing.assert_close(found[row], expected, rtol=0, atol=1e-5)


@pytest.fixture(params=["with oneDNN", "without", "in half precision"])
def dtype(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.dtype:
    if request.param == "without":
        monkeypatch.setattr(products, "available", lambda: False)
    return torch.bfloat16 if request.param == "in half precision" else torch.float32


@pytest.mark.parametrize(("heads", "name"), CASES)
def test_a_cell_has_the_same_bits_alone_and_among_others(
    heads: str, name: str, dtype: torch.dtype
) -> None:
    near = dtype != torch.bfloat16  # in half precision that is for `company` to say
    low = [cell for cell in BOTH if near or cell[1] >= FAR]
    together = Setting(low, heads, dtype)
    mixed = together.run(together.plan(), **STYLES[name])
    for number, cell in enumerate(low):
        alone = Setting([cell], heads, dtype)
        assert alone.run(alone.plan(), **STYLES[name]).equal(mixed[together.rows(number)])


@pytest.mark.parametrize("heads", HEADS)
def test_the_last_query_alone_has_the_bits_that_it_has_in_its_suffix(heads: str) -> None:
    setting = Setting(BOTH, heads, torch.float32)
    whole = setting.run(setting.plan())
    last = setting.segments.last_rows(len(BOTH))
    plan = setting.plan(keys_from={0: KeysValues(setting.key, setting.value)})
    plan.blocks = setting.segments.last_blocks(len(BOTH))
    assert setting.run(plan, setting.query[last]).equal(whole[last])


def test_unpatched_prompts_side_by_side_have_the_bits_of_their_cells() -> None:
    """A cell that begins at position 0 is the unpatched run itself."""
    setting = Setting([(0, 0), (1, 0)], "grouped", torch.float32)
    blocks = whole_prompts([TOKENS, TOKENS], [16, 16], CPU)
    plan = RowPlan({id(setting.module): 0}, blocks, setting.segments.n_rows, None)
    assert setting.run(plan).equal(setting.run(setting.plan()))


def test_weights_can_be_kept_and_written() -> None:
    setting = Setting([(0, FAR - 3), (1, FAR + 10)], "grouped", torch.float32)
    plan = setting.plan(patterns={})
    plain = setting.run(plan)
    assert plan.patterns is not None
    kept = plan.patterns[0]
    n_keys = kept.shape[-1]
    assert n_keys == FAR + 2 * FAR_BLOCK
    torch.testing.assert_close(kept.sum(-1), torch.ones(kept.shape[:2]))
    row, head = setting.segments.row(1, FAR + 66), 3
    assert kept[row, head, FAR + 67 :].eq(0).all()

    rows = torch.tensor([row * 4 + head])
    same = setting.plan(due=Due({"pattern": Writes(rows, kept[row, head, :TOKENS][None], None)}))
    assert setting.run(same).equal(plain)
    assert same.due is not None
    same.due.check()

    first = torch.zeros(1, TOKENS)
    first[0, 0] = 1
    other = setting.plan(due=Due({"pattern": Writes(rows, first, None)}))
    found = setting.run(other).clone()
    assert found[row, head].equal(setting.prefix.values[TOKENS, head // 2])
    found[row, head] = plain[row, head]
    assert found.equal(plain)


def test_a_stretch_is_cut_at_multiples_of_the_block() -> None:
    stretch = Stretch(FAR + 60, 7, 70, 3, 11, 0)
    cut = [(each.first - FAR, each.row, each.count) for each in stretch.blocks()]
    assert cut == [(60, 7, 4), (64, 11, 64), (128, 75, 2)]
    assert {(each.own, each.own_row) for each in stretch.blocks()} == {(3, 11)}
    assert Far([stretch]).n_keys == FAR + 192


def test_nothing_is_kept_where_nobody_asks() -> None:
    setting = Setting([(0, FAR)], "grouped", torch.float32)
    assert Pattern.of(setting.plan(), 0, setting.query) is None
    assert Style(1.0, None, None, None).plain
    assert not Style(1.0, 4, None, None).plain


@pytest.mark.parametrize("name", PACKED)
def test_cells_of_every_architecture_go_the_far_way_as_the_near(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiny models have no long prompts, so here everything from position 16 on is far."""
    monkeypatch.setattr(segments, "FAR", 16)
    backend, reference = tiny_backend(name), prepared(name)[1]
    clean, corrupt = pair_of_prompts(37)
    run, own = captured(backend, "clean", clean), captured(backend, "own", corrupt)
    where = [site for site in sites(backend, 37) if site[2] in (12, 15, 16, 17, 30, 36)]
    values = {hook: reference.activations(clean, hook) for hook in backend.describe().layer_hooks}
    cells = [[Edit(h, layer, p, values[h][layer, p])] for h, layer, p in where]

    found = scores(backend, corrupt, from_run(run, where))

    expected = reference.logprobs(corrupt, cells, IDS).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    controls = scores(backend, corrupt, from_run(own, where, computed=True))
    assert (controls == baseline(backend, corrupt)).all()
    at_most(backend, 48)
    np.testing.assert_array_equal(scores(backend, corrupt, from_run(run, where)), found)
