"""A table of vectors, packed for the wire: row-major, little-endian, base64. Without torch."""

import base64
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

VectorType = Literal["float32", "float16", "bfloat16"]


def pack_vectors(array: Any, dtype: VectorType = "float32") -> dict[str, Any]:
    """`array`, [rows, width], as the `patch_vectors` of a request.

    With `layer_indices` beside it, it is also how a hook's named vectors are registered. An array,
    nested lists, or a torch tensor of any type. bfloat16 is rounded to the nearest, ties to even.
    """
    if dtype not in get_args(VectorType):
        raise ValueError(f"dtype {dtype!r} is none of {', '.join(get_args(VectorType))}")
    if hasattr(array, "detach"):  # a torch tensor, whose types numpy may not know
        array = array.detach().cpu().double().numpy()
    values = np.asarray(array, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(
            f"patch vectors of shape {list(values.shape)}; [rows, width] is wanted: "
            "wrap a single vector in a list"
        )
    with np.errstate(over="ignore"):
        narrow = values.astype("<f2" if dtype == "float16" else "<f4")
    raw = _bfloat16(narrow) if dtype == "bfloat16" else narrow
    if not np.isfinite(narrow).all() or (dtype == "bfloat16" and _overflows(raw)):
        raise ValueError(f"patch vectors hold a number that is not finite, or not in {dtype}")
    data = base64.b64encode(np.ascontiguousarray(raw).tobytes()).decode("ascii")
    return {"dtype": dtype, "shape": list(values.shape), "data": data}


def _bfloat16(values: NDArray[Any]) -> NDArray[Any]:
    """The upper half of each float32, rounded: half of the lower half, a little less when even."""
    bits = np.asarray(values.view("<u4"))
    return np.asarray((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16, dtype="<u2")


def _overflows(halves: NDArray[Any]) -> bool:
    return bool(((halves & 0x7F80) == 0x7F80).any())
