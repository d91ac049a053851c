"""Mixture-of-experts layers whose rows are batch-invariant.

A matrix product's rows depend on how many rows there are, and how many tokens an expert receives
depends on everything else in the batch. So each expert's rows are padded like the packed batch is.
transformers looks the expert function up by name, as it does attention.
"""

from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.integrations.moe import ExpertsInterface

from sonde.backends.torch.packed.rows import pad_rows

NAME: Final = "sonde"
ROWS: Final = 16


def padded_experts(
    module: nn.Module, hidden: Tensor, chosen: Tensor, weights: Tensor, *_args: Any, **_kwargs: Any
) -> Tensor:
    """Hidden [rows, width], chosen and weights [rows, k] -> [rows, width]."""
    experts: Any = module
    rows, k = chosen.shape
    outputs = hidden.new_zeros(rows * k, hidden.shape[-1])
    flat = chosen.flatten()
    for expert in torch.unique(flat).tolist():
        if not 0 <= expert < experts.num_experts:
            continue
        slots = (flat == expert).nonzero().flatten()
        given = pad_rows(hidden[slots // k], ROWS)
        outputs[slots] = _one_expert(experts, expert, given)[: len(slots)]
    weighted = outputs.view(rows, k, -1) * weights.unsqueeze(-1)
    return weighted.sum(1).to(hidden.dtype)


def _one_expert(experts: Any, index: int, rows: Tensor) -> Tensor:
    """What expert `index` makes of its rows, biases and gating included."""
    up_name = "gate_up_proj" if experts.has_gate else "up_proj"
    up = _linear(experts, up_name, index, rows)
    inner = experts._apply_gate(up) if experts.has_gate else experts.act_fn(up)
    return _linear(experts, "down_proj", index, inner)


def _linear(experts: Any, name: str, index: int, rows: Tensor) -> Tensor:
    weight = getattr(experts, name)[index]
    bias = getattr(experts, f"{name}_bias")[index] if experts.has_bias else None
    return F.linear(rows, weight.T if experts.is_transposed else weight, bias)


def register() -> None:
    """Make the function known to transformers under `NAME`."""
    ExpertsInterface.register(NAME, padded_experts)


def uses_experts(model: nn.Module) -> bool:
    """Whether any module dispatches its experts through transformers' interface."""
    return any(hasattr(module, "_apply_gate") for module in model.modules())
