"""float32 that is float32.

A training process may run under autocast, or have asked for TF32 or bfloat16 products. Both would
change which features are selected without a word, so encoding and decoding step out of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

mkldnn: Any = torch.backends.mkldnn  # its precision settings have no types

_EXACT = {"ieee", "none"}
"""Settings under which a float32 product has float32 factors. "none" is the default."""


@contextmanager
def exact_float32(device: torch.device) -> Iterator[None]:
    """Products with float32 factors and sums, no autocast and no gradients, inside the block.

    The precision is a setting of the whole process: it is changed only where it has to be, and put
    back afterwards.
    """
    settings: tuple[Any, ...] = (torch.backends.cuda.matmul, mkldnn.matmul)
    loose = [(each, each.fp32_precision) for each in settings if each.fp32_precision not in _EXACT]
    try:
        for setting, _ in loose:
            setting.fp32_precision = "ieee"
        with torch.no_grad(), torch.autocast(device.type, enabled=False):
            yield
    finally:
        for setting, before in loose:
            setting.fp32_precision = before
