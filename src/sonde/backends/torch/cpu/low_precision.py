"""One product of each low-precision kind, to see whether this CPU lets it run.

Run as a program, in a process that may die of it (see `instruction_sets`). It then needs torch and
nothing of Sonde, and looks for nothing beside itself:

    python -P low_precision.py
"""

from typing import Final

import torch
import torch.nn.functional as F

DTYPES: Final = (torch.bfloat16, torch.float16)
SIZES: Final = ((1, 32, 32), (4, 64, 16), (64, 256, 96))
"""Rows, inputs and outputs: kernels for small shapes are others than for large ones."""


def multiply() -> None:
    """A linear map and a batched product of each dtype and size; the results are not looked at."""
    torch.set_num_threads(1)  # threads of a pool are not there after a fork
    with torch.inference_mode():
        for dtype in DTYPES:
            for rows, inputs, outputs in SIZES:
                given = torch.ones(2, rows, inputs, dtype=dtype)
                F.linear(given[0], torch.ones(outputs, inputs, dtype=dtype))
                torch.bmm(given, torch.ones(2, inputs, outputs, dtype=dtype))


if __name__ == "__main__":
    multiply()
