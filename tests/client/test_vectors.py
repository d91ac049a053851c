"""Packing tables of vectors, and what the engine makes of them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from sonde.client import PatchStudy, pack_vectors
from sonde.client.vectors import VectorType
from sonde.engine.vectors import unpack
from sonde.schema import PatchVectors

TYPES: dict[VectorType, tuple[torch.dtype, float]] = {
    "float32": (torch.float32, 2.0**127),
    "float16": (torch.float16, 6e4),
    "bfloat16": (torch.bfloat16, 2.0**127),
}


@pytest.mark.parametrize("dtype", TYPES)
@given(data=st.data())
def test_what_is_packed_is_unpacked_as_torch_would_round_it(
    dtype: VectorType, data: st.DataObject
) -> None:
    kind, most = TYPES[dtype]
    shape = data.draw(array_shapes(min_dims=2, max_dims=2, max_side=5))
    numbers = st.floats(-most, most, width=32)
    table = data.draw(arrays(np.float32, shape, elements=numbers))
    packed = PatchVectors.model_validate(pack_vectors(table, dtype))
    assert packed.shape == list(shape)
    expected = torch.from_numpy(table).to(kind).float().numpy()
    np.testing.assert_array_equal(unpack(packed), expected)


def test_lists_and_tensors_of_any_type_are_packed_too() -> None:
    rows = [[1.0, -2.5], [0.0, 4.0]]
    expected = pack_vectors(np.array(rows))
    assert pack_vectors(rows) == expected
    tensor = torch.tensor(rows, requires_grad=True)
    assert pack_vectors(tensor) == expected
    assert pack_vectors(tensor.bfloat16()) == expected
    assert PatchStudy.pack_vectors(np.asfortranarray(rows)) == expected


@pytest.mark.parametrize(
    ("table", "dtype", "expected"),
    [
        ([1.0, 2.0], "float32", r"shape \[2\]; \[rows, width\] is wanted"),
        ([[[1.0]]], "float32", r"shape \[1, 1, 1\]"),
        ([[]], "float32", r"shape \[1, 0\]"),
        ([[np.nan]], "float32", "not finite"),
        ([[np.inf]], "bfloat16", "not finite"),
        ([[7e4]], "float16", "not finite, or not in float16"),
        ([[3.4e38]], "bfloat16", "not finite, or not in bfloat16"),
        ([[1e39]], "float32", "not finite, or not in float32"),
        ([[1.0]], "float64", "dtype 'float64' is none of float32"),
    ],
)
def test_what_cannot_be_packed_is_refused(table: object, dtype: VectorType, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        pack_vectors(table, dtype)
