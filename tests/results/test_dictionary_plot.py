"""A picture of what judging found: the same numbers, the same bytes."""

from typing import Any

from sonde.results.dictionary_plot import image


def held(fvu: float | None) -> dict[str, Any]:
    density = {"edges": [1e-2, 1e-1, 1.0], "features": [5, 3]}
    return {"fvu": fvu, "ce_recovered": 0.98, "features": 8, "density": density}


def test_a_set_and_the_one_beside_it_are_drawn() -> None:
    plain = {"15": held(0.1), "each": {"code": {"15": held(0.2)}}}
    alone = image(plain, "svg")
    assert alone == image(plain, "svg")
    both = image({**plain, "beside": {"15": held(0.3)}}, "svg")
    assert both != alone
    assert image(plain, "png").startswith(b"\x89PNG")


def test_what_is_not_defined_is_not_drawn() -> None:
    plain = {"15": held(None) | {"density": None, "ce_recovered": None}}
    assert image(plain, "svg")
