"""Tables, masks and named vectors: decoded as sent, refused by arithmetic when they do not fit."""

import base64
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sonde.engine.vectors import VectorModule, check_vectors, mask_vector, row, unpack
from sonde.errors import BadVectors, UnknownVector
from sonde.schema import Mask, PatchVectors
from tests.engine.questions import request
from tests.scripted import WIDTH

floats = st.floats(width=16, allow_nan=False, allow_infinity=False)
tables = arrays.arrays(
    np.float16, arrays.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=floats
)


def packed(values: np.ndarray, dtype: str = "float32") -> PatchVectors:
    """As a client packs it."""
    tensor = torch.from_numpy(values.astype(np.float32))
    raw = tensor.to(getattr(torch, dtype)).view(torch.uint8).numpy().tobytes()
    shape = list(values.shape)
    return PatchVectors(dtype=dtype, shape=shape, data=base64.b64encode(raw).decode())  # type: ignore[arg-type]


TABLE = np.arange(2 * WIDTH, dtype=np.float32).reshape(2, WIDTH)


@given(tables)
def test_a_table_comes_back_as_it_was_packed(values: np.ndarray) -> None:
    for dtype in ("float32", "float16"):
        assert (unpack(packed(values, dtype)) == values).all()


@given(tables)
def test_bfloat16_comes_back_as_torch_reads_it(values: np.ndarray) -> None:
    expected = torch.from_numpy(values.astype(np.float32)).bfloat16().float().numpy()

    assert (unpack(packed(values, "bfloat16")) == expected).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": [16]}, r"shape \[16\] is not \[rows, width\]"),
        ({"shape": [2, 8, 1]}, r"is not \[rows, width\]"),
        ({"shape": []}, r"is not \[rows, width\]"),
        ({"shape": [0, 8]}, r"is not \[rows, width\]"),
        ({"shape": [-2, 8]}, r"is not \[rows, width\]"),
        ({"shape": [3, 8]}, "base64 characters"),
        ({"shape": [10**9, 10**9]}, "at most 268435456"),
        ({"dtype": "float16"}, "base64 characters"),
        ({"data": "!" * 88}, "not base64"),
        ({"data": "AAAA" * 21 + "A==="}, "not base64|holds"),
    ],
)
def test_a_table_that_does_not_fit_its_words_is_refused(change: Any, message: str) -> None:
    fields = packed(TABLE).model_dump() | change
    with pytest.raises(BadVectors, match=rf"patch\[0\]: .*{message}"):
        unpack(PatchVectors(**fields))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_table_of_what_is_no_number_is_refused(bad: float) -> None:
    with pytest.raises(BadVectors, match="NaN or infinity"):
        unpack(packed(np.array([[1.0, bad]])))


def test_a_row_is_found_by_its_number() -> None:
    assert (row(TABLE, 1, "source_inline") == TABLE[1]).all()
    for index in (-1, 2):
        with pytest.raises(
            BadVectors, match=rf"source_inline row {index} is out of range \[0, 2\)"
        ):
            row(TABLE, index, "source_inline")


def test_a_mask_of_indices_is_one_there_and_zero_elsewhere() -> None:
    assert mask_vector(Mask(indices=[1, 3, 1]), None, 5).tolist() == [0, 1, 0, 1, 0]
    assert mask_vector(Mask(indices=[]), None, 2).tolist() == [0, 0]


def test_a_mask_may_be_a_row_of_weights() -> None:
    assert (mask_vector(Mask(inline=0), TABLE, WIDTH) == TABLE[0]).all()


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (Mask(), "exactly one of 'indices' and 'inline'"),
        (Mask(indices=[0], inline=0), "exactly one of"),
        (Mask(indices=[5]), r"mask index 5 is out of range \[0, 5\)"),
        (Mask(indices=[-1]), "mask index -1 is out of range"),
        (Mask(inline=0), "mask.inline requires patch_vectors"),
    ],
)
def test_a_mask_that_makes_no_sense_is_refused(mask: Mask, message: str) -> None:
    with pytest.raises(BadVectors, match=message):
        mask_vector(mask, None, 5)


MODULES = {"joy": VectorModule({("mlp_in", 0): np.ones(WIDTH, dtype=np.float32)}, scale=2.0)}
BARE: dict[str, Any] = {"source_run": ..., "clean_prompt": ...}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"source_inline": 0}, "source_inline requires patch_vectors"),
        ({"source_inline": 2, "patch_vectors": packed(TABLE)}, "row 2 is out of range"),
        ({"source_inline": 0, "patch_vectors": packed(TABLE[:, :3])}, "width 3 != hook width 8"),
        (
            {
                "source_module": "zeros",
                "mask": {"inline": 0},
                "patch_vectors": packed(TABLE[:, :3]),
            },
            "width 3 != hook width 8",
        ),
    ],
)
def test_the_checks_come_in_the_contracts_words(fields: Any, message: str) -> None:
    with pytest.raises(BadVectors, match=message):
        check_vectors(request(**BARE | fields), MODULES, WIDTH)


def test_an_unused_table_may_have_any_width() -> None:
    asked = request(**BARE, source_module="zeros", patch_vectors=packed(TABLE[:, :3]))

    check_vectors(asked, MODULES, WIDTH)


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(UnknownVector, match=r"'grief'; available: \['joy', 'zeros'\]"):
        check_vectors(request(**BARE, source_module="grief"), MODULES, WIDTH)


def test_a_named_vector_is_scaled() -> None:
    assert MODULES["joy"].at("joy", "mlp_in", 0, WIDTH).tolist() == [2.0] * WIDTH


def test_a_named_vector_that_is_not_there_says_where_it_is() -> None:
    with pytest.raises(BadVectors, match=r"'joy' has no vector at mlp_in, layer 3; it has \[\("):
        MODULES["joy"].at("joy", "mlp_in", 3, WIDTH)


@pytest.mark.parametrize("values", [np.ones(3), np.full(WIDTH, np.nan)])
def test_a_named_vector_that_does_not_fit_is_refused(values: np.ndarray) -> None:
    module = VectorModule({("mlp_in", 0): values.astype(np.float32)})

    with pytest.raises(BadVectors, match="'joy' at mlp_in, layer 0 is not 8 finite numbers"):
        module.at("joy", "mlp_in", 0, WIDTH)
