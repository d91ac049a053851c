"""A short name for the weights a model has now, cheap enough to take after every training step.

1. **Read** every weight's bits as whole numbers; tied weights once.
2. **Weigh** each number by an odd pseudo-random 64-bit key for its place in a block of 32,768, and
   add up each block modulo 2**64, on the device the weight is on.
3. **Hash** the names, shapes, dtypes and block sums with SHA-256; keep 16 hex digits.

One changed weight always changes its block's sum: an odd key times a difference that is not 0 is
not 0 modulo 2**64. Several in one block cancel with a chance of about 2**-32 at most. Integer sums
do not depend on order, so the result is the same on any device and with any number of threads.

Above `FULL_BYTES` only every n-th weight of each tensor is read, n odd so that the sample walks
through the columns of a matrix. A training step, a merged adapter or another checkpoint is still
seen, as they touch weights everywhere; an edit of a few single weights may not be.

What it is not: a signature (it is easy to forge), nor a name for the whole model. The configuration
is not in it, and neither are buffers that are computed rather than stored, such as rotary
frequencies: those differ in the last bit between devices, and a long prompt may change them.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache

import torch
from torch import Tensor, nn

FULL_BYTES = 2 * 2**30
SAMPLED_WEIGHTS = 2**28
BLOCK = 2**15
"""Not larger: torch splits longer work over all threads, and on a busy machine the threads wait for
one another at every block (0.2 s became 47 s)."""
GPU_BLOCKS = 64
"""Blocks at once on an accelerator, where each call has a price; on the CPU one."""
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def fingerprint(model: nn.Module, *, whole: bool = False) -> str:
    """16 hex digits that change when the stored weights do, and do not change with the device.

    The `whole` of a large model, not a sample of it, has another one.
    """
    weights = dict(distinct_weights(model))
    stride = 1 if whole else sampling_stride(weights.values())
    digest = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        digest.update(f"{name} {list(weight.shape)} {weight.dtype} {stride}\n".encode())
        digest.update(block_sums(weight, stride).cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def distinct_weights(model: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Stored parameters and buffers by name; of tied ones, the first by name."""
    seen: set[tuple[object, ...]] = set()
    for name, weight in sorted(model.state_dict().items()):
        place = (weight.data_ptr(), weight.device, weight.dtype, weight.shape, weight.stride())
        if weight.numel() == 0 or place not in seen:
            seen.add(place)
            yield name, weight


def sampling_stride(weights: Iterable[Tensor]) -> int:
    """Read every n-th weight: 1 up to `FULL_BYTES`, then odd, for about `SAMPLED_WEIGHTS` reads."""
    sizes = [(weight.numel(), weight.nbytes) for weight in weights]
    if sum(nbytes for _, nbytes in sizes) <= FULL_BYTES:
        return 1
    return (sum(count for count, _ in sizes) // SAMPLED_WEIGHTS) | 1


def block_sums(weight: Tensor, stride: int) -> Tensor:
    """Keyed sum of each block of the sampled bits. -> int64 [blocks]"""
    bits = bits_of(weight.detach())[::stride]
    key = keys().to(bits.device)
    whole = bits.numel() // BLOCK
    blocks = bits[: whole * BLOCK].view(whole, BLOCK)
    rest = bits[whole * BLOCK :]
    at_once = 1 if bits.device.type == "cpu" else GPU_BLOCKS
    chunks = (blocks[start : start + at_once] for start in range(0, whole, at_once))
    sums = [(chunk.to(torch.int64) * key).sum(1) for chunk in chunks]
    return torch.cat([*sums, (rest.to(torch.int64) * key[: rest.numel()]).sum().reshape(1)])


def bits_of(weight: Tensor) -> Tensor:
    """A weight as whole numbers, flat; of a contiguous one a view."""
    flat = weight.reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    return flat.view(_BITS[flat.element_size()])


@cache
def keys() -> Tensor:
    """One odd 64-bit key per place in a block, the same in every version of every library."""
    stream = hashlib.shake_256(b"sonde fingerprint 1").digest(8 * BLOCK)
    return torch.frombuffer(bytearray(stream), dtype=torch.int64) | 1
