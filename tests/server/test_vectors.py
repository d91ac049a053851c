"""Named vectors: taken whole or not at all, and never changed while in use."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from sonde.errors import (
    BadRequest,
    BadVectors,
    LayerOutOfRange,
    RequestError,
    RequestTooLarge,
    UnknownHook,
    UnknownVector,
    VectorsExist,
)
from sonde.schema import RegisteredVectors, RegisterVectors
from sonde.server.vectors import VectorRegister
from tests.engine.test_vectors import packed
from tests.scripted import LAYERS, WIDTH, Scripted

MODEL = Scripted().describe()
ONES = [1.0] * WIDTH
TABLE = np.arange(2 * WIDTH, dtype=np.float32).reshape(2, WIDTH)


def register(held: VectorRegister, name: str = "mood", **fields: Any) -> RegisteredVectors:
    given: dict[str, Any] = {"vectors": [at("mlp_out", 1)]}
    return held.register(RegisterVectors.model_validate({"name": name} | given | fields), MODEL)


def at(hook: str, layer: int, **fields: Any) -> dict[str, Any]:
    return {"hook": hook, "layer": layer} | (fields or {"values": ONES})


def test_vectors_are_found_by_name_and_site_times_their_scale() -> None:
    held = VectorRegister()
    vectors = [at("mlp_out", 1), at("pre_attn", 0, inline=1)]
    register(held, vectors=vectors, patch_vectors=packed(TABLE).model_dump(), scale=2)
    module = held.snapshot()["mood"]
    assert module.at("mood", "mlp_out", 1, WIDTH).tolist() == [2.0] * WIDTH
    assert module.at("mood", "pre_attn", 0, WIDTH).tolist() == (TABLE[1] * 2).tolist()


def test_the_list_says_where_they_go_and_what_they_take() -> None:
    held = VectorRegister(budget_bytes=1000)
    register(held, "b", scale=0.5)
    register(held, "a", vectors=[at("pre_attn", 0), at("mlp_in", 3)])
    found = held.listing()
    assert [module.name for module in found.modules] == ["a", "b"]
    assert [(s.hook, s.layer) for s in found.modules[0].sites] == [("pre_attn", 0), ("mlp_in", 3)]
    assert [module.bytes for module in found.modules] == [64, 32]
    assert (found.modules[1].scale, found.used_bytes, found.budget_bytes) == (0.5, 96, 1000)


def test_a_name_is_taken_until_it_is_replaced_on_purpose() -> None:
    held = VectorRegister()
    register(held)
    with pytest.raises(VectorsExist, match="'mood' are registered already; .* replace: true"):
        register(held, scale=3)
    assert held.snapshot()["mood"].scale == 1
    register(held, scale=3, replace=True)
    assert held.snapshot()["mood"].scale == 3


def test_a_snapshot_stays_as_it_is() -> None:
    held = VectorRegister()
    register(held)
    before = held.snapshot()
    register(held, scale=3, replace=True)
    register(held, "other")
    held.unregister("mood")
    assert list(before) == ["mood"]
    assert before["mood"].scale == 1
    assert list(held.snapshot()) == ["other"]


def test_nobody_can_write_to_a_vector_that_has_a_name() -> None:
    held = VectorRegister()
    register(held)
    module = held.snapshot()["mood"]
    with pytest.raises(ValueError, match="read-only"):
        module.vectors["mlp_out", 1][0] = 5
    with pytest.raises(TypeError):
        held.snapshot()["mood"] = module  # type: ignore[index]


def test_a_name_that_nobody_registered_cannot_be_forgotten() -> None:
    with pytest.raises(UnknownVector, match="'mood'"):
        VectorRegister().unregister("mood")


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"name": "zeros"}, BadRequest, "'zeros' is taken"),
        ({"vectors": [at("attn", 0)]}, UnknownHook, "'attn' is not injectable"),
        ({"vectors": [at("mlp_in", LAYERS)]}, LayerOutOfRange, f"layer {LAYERS} is out of range"),
        ({"vectors": [at("mlp_in", -1)]}, LayerOutOfRange, "layer -1 is out of range"),
        (
            {"vectors": [at("mlp_in", 0)] * 2},
            BadVectors,
            r"vectors\[1\]: a second vector at mlp_in",
        ),
        ({"vectors": [at("mlp_in", 0, values=[1.0])]}, BadVectors, "width 1 != hook width 8"),
        ({"vectors": [at("mlp_in", 0, values=[])]}, BadVectors, "width 0 != hook width 8"),
        ({"vectors": [at("mlp_in", 0, values=[1e300] * WIDTH)]}, BadVectors, "single precision"),
        ({"vectors": [at("mlp_in", 0, values=[1e38] * WIDTH)], "scale": 1e9}, BadVectors, "finite"),
        ({"vectors": [at("mlp_in", 0, inline=0)]}, BadVectors, "requires patch_vectors"),
        ({"vectors": [at("mlp_in", 0, inline=0, values=ONES)]}, BadVectors, "exactly one of"),
        ({"vectors": [{"hook": "mlp_in", "layer": 0}]}, BadVectors, "exactly one of"),
        (
            {"vectors": [at("mlp_in", 0, inline=2)], "patch_vectors": packed(TABLE).model_dump()},
            BadVectors,
            r"vectors\[0\].inline row 2 is out of range \[0, 2\)",
        ),
    ],
)
def test_vectors_that_do_not_fit_the_model_are_refused(
    fields: Any, error: type[RequestError], message: str
) -> None:
    held = VectorRegister()
    with pytest.raises(error, match=message):
        register(held, **fields)
    assert not held.snapshot()


def test_more_than_the_budget_is_refused_and_nothing_goes_for_it() -> None:
    held = VectorRegister(budget_bytes=50)
    register(held)
    with pytest.raises(RequestTooLarge, match="64 bytes and the budget is 50 bytes; unregister"):
        register(held, "other")
    register(held, replace=True)
    assert list(held.snapshot()) == ["mood"]


def test_more_names_than_may_be_are_refused() -> None:
    held = VectorRegister(names=1)
    register(held)
    with pytest.raises(BadRequest, match="1 names are registered, as many as may"):
        register(held, "other")


def test_of_many_who_want_one_name_at_once_one_gets_it() -> None:
    held = VectorRegister()

    def try_it(scale: int) -> bool:
        try:
            register(held, scale=scale)
        except VectorsExist:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(try_it, range(64))) == 1
