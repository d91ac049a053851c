"""Attention over suffixes that share a prefix, for many patched runs at once.

Hugging Face decoder layers look their attention function up by name, so one registered function
serves every architecture. It is told what the packed rows are by a `RowPlan`:

1. **Gather** each cell's keys and values: the shared prefix from the unpatched run, the suffix from
   the cell's own rows.
2. **Block** the queries by absolute position, a block at a time, and give block b exactly the keys
   of blocks 0 … b. A query's arithmetic then depends on its position alone: not on where its suffix
   starts, nor on what else is in the batch. That is what makes a cell's bits the same everywhere.
3. **Return** the rows in packed order.

Queries far into a long prompt go another way, for which the same holds (`far`).

Rows whose attention a patch cannot reach yet (see `passage`) take the unpatched run's output.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel

from sonde.backends.torch.packed.far import attend_far
from sonde.backends.torch.packed.pattern import Pattern
from sonde.backends.torch.packed.plan import (
    KeysKnown,
    KeysValues,
    QueryBlock,
    Ragged,
    RowPlan,
    UnsupportedAttention,
    current,
)
from sonde.backends.torch.packed.style import Style, softmax
from sonde.schema import HeadShape, Hook

NAME: Final = "sonde"
HARMLESS: Final = frozenset(
    {"position_ids", "cache_position", "output_attentions", "use_cache", "dropout", "is_causal"}
    | {"past_key_values", "layer_past", "output_hidden_states", "return_dict", "logits_to_keep"}
    | {"output_router_logits", "position_embeddings", "cu_seq_lens_q", "cu_seq_lens_k"}
)
"""What may be given and is not looked at: the plan knows positions and who sees whom. Anything else
might change the result, and is refused."""


HALVES: Final = (torch.float16, torch.bfloat16)
FUSED_WIDTH: Final = 256
"""The widest head that fused attention takes."""


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """The registered function. query [1, heads, rows, width] -> [1, rows, heads, width]."""
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    if (
        torch.compiler.is_compiling()
    ):  # the plan differs from call to call: keep it out of the graph
        return _opaque(query, key, value, scale, sliding_window, softcap, s_aux), None
    plan = current()
    strange = [name for name, given in kwargs.items() if given is not None and name not in HARMLESS]
    if attention_mask is not None or strange or query.shape[0] != 1:
        raise UnsupportedAttention(f"attention with {strange or 'a mask of its own'}")
    plan.callers.add(id(module))
    style = Style(scale, sliding_window, softcap, s_aux)
    return _attend(plan, plan.layer_of[id(module)], query, key, value, style), None


@torch.library.custom_op("sonde::attend", mutates_args=())
def _opaque(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float,
    window: int | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    """The same inside a compiled layer, which knows nothing of plans; the plan names the layer."""
    plan = current()
    if plan.record:  # a compiled layer may use their memory again
        key, value = key.clone(), value.clone()
    return _attend(plan, plan.layer, query, key, value, Style(scale, window, softcap, sinks))


@_opaque.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *_rest: Any) -> Tensor:
    return query.new_empty(1, query.shape[2], query.shape[1], value.shape[3])


def _attend(
    plan: RowPlan, layer: int, query: Tensor, key: Tensor, value: Tensor, style: Style
) -> Tensor:
    """Attention of one layer's rows. -> [1, rows, heads, width]."""
    rows = _rewritten(plan, "q", query[0].transpose(0, 1))
    own = KeysValues(
        _rewritten(plan, "k", key[0].transpose(0, 1)),
        _rewritten(plan, "v", value[0].transpose(0, 1)),
    )
    if plan.shapes is not None:
        plan.shapes.append((layer, _head_shape(rows, own)))
    # After the writes: what is kept for later calls is what the patched run has.
    if plan.record or plan.only_keys:
        plan.recorded[layer] = own
    if plan.only_keys:
        raise KeysKnown
    if plan.keys_from is not None:
        own = plan.keys_from[layer]
    if plan.queries is not None:
        plan.queries[layer] = rows.clone()
    # Far queries read the prefix where it lies; only near ones need it in one table with the rest.
    prefix, near = None if plan.prefix is None else plan.prefix[layer], plan.near
    held = own if prefix is None or not near else prefix.followed_by(own)
    whole = _all_at_once(plan, near, rows, held, style)
    # Zeros, as padding and rows computed alone are in no block.
    out = rows.new_zeros(*rows.shape[:2], own.values.shape[-1]) if whole is None else whole
    pattern = Pattern.of(plan, layer, rows)
    for block in near if whole is None else ():
        _attend_block(out, rows, held, block, style, pattern)
    for far in plan.far:
        attend_far(out, rows, prefix, own, far, style, pattern)
    if plan.fixed_rows is not None and plan.fixed_outputs is not None:
        out[plan.fixed_rows] = plan.fixed_outputs[layer].view(-1, *out.shape[1:])
    if plan.restored is not None:
        where, unpatched = plan.restored
        out.view(-1, out.shape[-1]).index_copy_(0, where, unpatched)
    if plan.writes_to("z"):
        out = _rewritten(plan, "z", out)
    if plan.outputs is not None:
        plan.outputs[layer] = out.flatten(1)
    return out.unsqueeze(0)


def _rewritten(plan: RowPlan, hook: Hook, rows: Tensor) -> Tensor:
    """Rows [rows, heads, width] after what is written to them; the very tensor where nothing is."""
    if plan.due is None or hook not in plan.due.writes:
        return rows
    target = rows.clone(memory_format=torch.contiguous_format)  # may be somebody else's memory
    plan.due.make(hook, target.view(-1, target.shape[-1]))
    return target


def _head_shape(rows: Tensor, own: KeysValues) -> HeadShape:
    return HeadShape(
        heads=rows.shape[1],
        kv_heads=own.keys.shape[1],
        key_width=rows.shape[2],
        value_width=own.values.shape[2],
    )


def _attend_block(
    out: Tensor,
    rows: Tensor,
    held: KeysValues,
    block: QueryBlock,
    style: Style,
    pattern: Pattern | None = None,
) -> None:
    """Attention of one block of positions, written into `out` [rows, heads, width].

    `held` are the shared prefix's keys and values, then those of the packed rows.
    """
    heads, kv_heads = rows.shape[1], held.keys.shape[1]
    by_hand = pattern is not None  # fused attention never has its weights anywhere
    if block.ragged is not None and style.plain and _fits_fused(rows, held) and not by_hand:
        first, count = block.ragged.first_row, block.ragged.n_queries
        out[first : first + count] = _fused(rows, held, block.ragged, style.scale)
        return
    shape = (block.n_cells, kv_heads, block.n_keys, -1)
    keys = block.keys(kv_heads)
    q = _flat(rows).index_select(0, block.queries(heads)).view(block.n_cells, heads, block.size, -1)
    k = _flat(held.keys).index_select(0, keys).view(shape)
    v = _flat(held.values).index_select(0, keys).view(shape)
    # Fused attention counts what is visible from the first key on: the queries must begin there.
    if q.device.type == "cuda" and block.size == block.n_keys and style.plain and not by_hand:
        mixed = _flash(q, k, v, style.scale)
    else:
        mask = _mask(block, style.window, q, heads // kv_heads)
        see = None if pattern is None else partial(pattern.pass_by, block)
        mixed = attention_by_hand(q, k, v, mask, style, see)
    flat = mixed.reshape(-1, mixed.shape[-1])
    where = block.outputs(heads)
    if block.rows is None:
        torch.index_select(flat, 0, where, out=out[: len(where) // heads].view(len(where), -1))
    else:
        out.index_copy_(0, block.rows, flat.index_select(0, where).view(-1, heads, flat.shape[-1]))


def _fits_fused(rows: Tensor, held: KeysValues) -> bool:
    """Whether the fused kernel takes heads of this width and type."""
    width = rows.shape[-1]
    narrow = width % 8 == 0 and width <= FUSED_WIDTH and held.values.shape[-1] == width
    return narrow and rows.dtype in HALVES


def _all_at_once(
    plan: RowPlan, blocks: Sequence[QueryBlock], rows: Tensor, held: KeysValues, style: Style
) -> Tensor | None:
    """Fused attention of all rows, where one launch has them all: its output need not be copied."""
    ragged = blocks[0].ragged if len(blocks) == 1 else None
    if ragged is None or ragged.n_queries != rows.shape[0]:
        return None
    if plan.patterns is not None or plan.writes_to("pattern"):
        return None
    if not (style.plain and _fits_fused(rows, held)):
        return None
    return _fused(rows, held, ragged, style.scale)


def _fused(rows: Tensor, held: KeysValues, ragged: Ragged, scale: float) -> Tensor:
    """All suffixes in one launch: queries stay packed, only keys and values are gathered."""
    mine = slice(ragged.first_row, ragged.first_row + ragged.n_queries)
    mixed: Tensor = torch.ops.aten._flash_attention_forward(
        rows[mine].contiguous(),
        held.keys.index_select(0, ragged.key_rows),
        held.values.index_select(0, ragged.key_rows),
        ragged.query_ends,
        ragged.key_ends,
        ragged.n_keys,
        ragged.n_keys,
        0.0,
        True,  # causal from the end: a suffix's last query sees the prompt's last key
        False,
        scale=scale,
    )[0]
    return mixed


def _flat(rows: Tensor) -> Tensor:
    """[rows, heads, width] -> [rows * heads, width]."""
    return rows.reshape(-1, rows.shape[-1])


def _flash(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Fused causal attention; in float32 only for ungrouped heads, so keys are repeated."""
    group = q.shape[1] // k.shape[1]
    if group > 1 and q.dtype == torch.float32:
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    return F.scaled_dot_product_attention(
        q, k, v, is_causal=True, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
    )


def _visible(block: QueryBlock, window: int | None, device: torch.device) -> Tensor:
    """Which keys each query of the block may see: [size, keys]."""
    position = block.first + torch.arange(block.size, device=device)[:, None]
    key = torch.arange(block.n_keys, device=device)[None, :]
    visible = key <= position
    return visible if window is None else visible & (key > position - window)


def _mask(block: QueryBlock, window: int | None, like: Tensor, group: int) -> Tensor:
    """What to add to the scores of `group` heads that share their keys: [group * size, keys]."""
    key = (window, like.dtype, group)
    if key not in block.masks:
        hidden = torch.zeros(block.size, block.n_keys, dtype=like.dtype, device=like.device)
        hidden = hidden.masked_fill_(~_visible(block, window, like.device), float("-inf"))
        block.masks[key] = hidden.repeat(group, 1)
    return block.masks[key]


def attention_by_hand(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor,
    style: Style,
    see: Callable[[Tensor], None] | None = None,
) -> Tensor:
    """Q [cells, heads, size, width], k and v [cells, kv_heads, keys, width] -> like q.

    `see` is shown the weights [cells, heads, size, keys] before they meet the values.
    """
    cells, heads, size, width = q.shape
    kv_heads, n_keys = k.shape[1], k.shape[2]
    # Heads that share their keys are rows of one product, which then need not be repeated.
    grouped = q.view(cells * kv_heads, -1, width)
    turned = k.view(cells * kv_heads, n_keys, width).transpose(1, 2)
    if style.softcap is None:
        scores = torch.baddbmm(
            mask.expand(cells * kv_heads, -1, -1), grouped, turned, alpha=style.scale
        )
    else:
        scores = torch.bmm(grouped, turned) * style.scale
        scores = style.capped(scores) + mask  # after the cap, which makes −∞ finite
    scores = scores.view(cells, heads, size, n_keys)
    sinks = None if style.sinks is None else style.sinks.view(1, -1, 1).expand(cells, -1, size)
    weights = softmax(scores, sinks).to(v.dtype)
    if see is not None:
        weights = weights.contiguous()  # for `see` writes to them in place, as one flat table
        see(weights)
    weights = weights.view(cells * kv_heads, -1, n_keys)
    mixed = torch.bmm(weights, v.view(cells * kv_heads, n_keys, -1))
    return mixed.view(cells, heads, size, -1)


def register() -> None:
    """Make the attention function known to transformers under `NAME`.

    No mask function goes with it: the plan knows who may see whom, and models then build no mask.
    """
    AttentionInterface.register(NAME, attend)


def of_its_own(model: PreTrainedModel) -> str:
    """The attention that a model has without Sonde.

    Transformers' `sdpa`, its default, leaves soft caps out without a word: where scores have one,
    it is `eager`.
    """
    given: str = model.config._attn_implementation
    if given not in (NAME, "sdpa"):
        return given
    capped = getattr(model.config.get_text_config(), "attn_logit_softcapping", None)
    return "eager" if capped or not model._supports_sdpa else "sdpa"
