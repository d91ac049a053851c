"""How many bytes a chunk of this model's cells takes: a rough bound, and the measured peak."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from transformers import PreTrainedModel

from sonde.backends.base import logprobs_of
from sonde.backends.torch.cpu.threads import one_thread_each
from sonde.backends.torch.packed.cells import PackedCell, Sources
from sonde.backends.torch.packed.memory import peak_bytes, rough_cell_bytes, rough_row_bytes
from sonde.backends.torch.packed.scoring import Prompt
from sonde.backends.torch.packed.trace import Trace
from sonde.backends.torch.path import Path


def rough_bytes(path: Path, trace: Trace) -> float:
    """More than one row of a chunk needs, when every row is a cell of its own."""
    if path.name != "packed":  # recurrent layers keep more than their weights tell
        return float("inf")
    heads = path.model.config.get_text_config().num_attention_heads
    per_row = rough_row_bytes(path.layout.sites[0].layer)
    return 2 * per_row + rough_cell_bytes(trace.keys_values[0].keys, heads, max(trace.lengths))


def peak_of_chunk(
    path: Path,
    prompt: Prompt,
    read: Callable[[Tensor, Sequence[Prompt]], Tensor],
    cells: int,
    first: int,
) -> int:
    """Peak memory of cells with suffixes from `first`, read out by `read`."""
    enters = max(len(path.layout.sites) - 2, 0) if path.name == "packed" else 0
    plans = [PackedCell(i, (), first, enters, ()) for i in range(cells)]
    nothing = Sources(prompt.trace.residuals[0, :0], None)
    launched = replace(path, graphs=None)
    last = Prompt(0, replace(prompt.work, readout=logprobs_of([0])), prompt.trace)
    with torch.inference_mode(), one_thread_each():  # what other threads do is out of sight
        batch = peak_bytes(
            lambda: launched.start(prompt.trace, plans, nothing).final(), path.model.device
        )
        final = prompt.trace.last().repeat(cells, 1)
        graded = peak_bytes(lambda: read(final, [last] * cells), path.model.device)
    return batch + graded + cells * source_bytes(path.model)


def source_bytes(model: PreTrainedModel) -> int:
    """What one write's source takes while it is gathered, weighed and put down."""
    width: int = model.config.get_text_config().hidden_size
    return 6 * 4 * width
