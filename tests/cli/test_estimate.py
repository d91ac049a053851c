"""What `sonde sweep --estimate` says: here in all cases, on other hardware where that is asked."""

import json

import pytest

from sonde.cli.estimate import elsewhere, estimate_json, estimate_text
from sonde.errors import BadRequest
from sonde.schema import Estimate

HERE = Estimate(
    cells=270,
    computed_cells=200,
    token_layers=1000,
    working_bytes=2**20,
    source_bytes=0,
    seconds=3.0,
    chunks=1,
)


def test_people_are_told_what_needs_no_work() -> None:
    said = estimate_text(HERE)
    assert "270 cells; 70 cannot differ from the baseline" in said
    assert "about 3.00 s" in said


def test_programs_get_the_estimate_as_the_server_sends_it() -> None:
    assert json.loads(estimate_json(HERE, [])) == HERE.model_dump(mode="json")


def test_other_hardware_is_asked_about_only_beside_an_estimate_of_all_layers() -> None:
    assert elsewhere({"on": None}) is None
    with pytest.raises(BadRequest, match="give --estimate too"):
        elsewhere({"on": "8xH100", "estimate": False, "layers": "all"})
    with pytest.raises(BadRequest, match="leave --layers out"):
        elsewhere({"on": "8xH100", "estimate": True, "layers": "0:3"})
