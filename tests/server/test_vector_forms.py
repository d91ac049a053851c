"""The three ways of writing vectors down say the same, and each refusal names its place."""

from typing import Any

import numpy as np
import pytest

from sonde.errors import BadVectors
from sonde.schema import RegisterVectors
from sonde.server.vector_forms import given_vectors
from tests.engine.test_vectors import packed
from tests.scripted import WIDTH

TABLE = np.arange(2 * WIDTH, dtype=np.float32).reshape(2, WIDTH) / 7


def read(**fields: Any) -> list[tuple[str, int, list[float]]]:
    request = RegisterVectors.model_validate({"name": "mood"} | fields)
    return [(each.hook, each.layer, each.values.tolist()) for each in given_vectors(request)]


def table(**fields: Any) -> dict[str, Any]:
    """Two vectors of one hook, packed."""
    return packed(TABLE).model_dump() | {"layer_indices": [2, 0]} | fields


def test_12_the_three_forms_give_the_same_vectors() -> None:
    rows = TABLE.astype(float).tolist()
    listed = read(
        vectors=[
            {"hook": "mlp_out", "layer": 2, "values": rows[0]},
            {"hook": "mlp_out", "layer": 0, "inline": 1},
        ],
        patch_vectors=packed(TABLE).model_dump(),
    )
    by_layer = read(vectors={"mlp_out": {"2": rows[0], "0": {"vector": rows[1]}}})
    assert listed == by_layer == read(vectors={"mlp_out": table()})


def test_12_each_vector_may_have_a_scale_of_its_own() -> None:
    rows = TABLE.astype(float).tolist()
    given = {"2": {"vector": rows[0], "scale": 3.3}, "0": {"vector": rows[1], "scale": -1}}
    by_layer = read(vectors={"mlp_out": given})
    assert by_layer == read(vectors={"mlp_out": table(scales=[3.3, -1])})
    assert [values for _, _, values in by_layer] == [
        (TABLE[0] * 3.3).tolist(),
        (-TABLE[1]).tolist(),
    ]


def test_12_hooks_may_differ_in_form() -> None:
    row = TABLE[0].astype(float).tolist()
    found = read(vectors={"mlp_out": table(), "pre_attn": {"1": row}})
    assert [(hook, layer) for hook, layer, _ in found] == [
        ("mlp_out", 2),
        ("mlp_out", 0),
        ("pre_attn", 1),
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"vectors": {"mlp_out": {}}}, "vectors.mlp_out names no layer"),
        ({"vectors": {"mlp_out": {"x": [1.0]}}}, "vectors.mlp_out: 'x' is not the number of a"),
        ({"vectors": {"mlp_out": {"1.0": [1.0]}}}, "'1.0' is not the number of a layer"),
        ({"vectors": {"mlp_out": {"9" * 50: [1.0]}}}, "is not the number of a layer"),
        ({"vectors": {"mlp_out": table(layer_indices=[1])}}, "1 layer_indices for 2 rows"),
        ({"vectors": {"mlp_out": table(scales=[1.0])}}, "1 scales for 2 rows"),
        ({"vectors": {"mlp_out": table(shape=[2])}}, r"vectors.mlp_out.shape \[2\] is not"),
        ({"vectors": {"mlp_out": table(data="AAAA")}}, "base64 characters"),
        ({"vectors": {"a": {"1": [1.0]}}, "patch_vectors": packed(TABLE).model_dump()},
         "patch_vectors belongs to the list form"),
    ],
)  # fmt: skip
def test_12_what_does_not_fit_together_is_refused_by_name(fields: Any, message: str) -> None:
    with pytest.raises(BadVectors, match=message):
        read(**fields)
