"""A refusal names the field it is about."""

import pytest

from sonde.errors import BadRequest, EngineError, RequestTooLarge
from sonde.server.completion.blame import blaming
from sonde.server.errors import OpenAIError


def test_what_is_refused_inside_is_refused_because_of_the_field() -> None:
    with pytest.raises(OpenAIError) as refused, blaming("stop"):
        raise BadRequest("it is empty")
    found = refused.value
    assert (found.message, found.param, found.status_code) == ("it is empty", "stop", 400)


@pytest.mark.parametrize("said", ["it is empty", "patch[3]: it is empty"])
def test_a_place_is_named_once(said: str) -> None:
    with pytest.raises(OpenAIError) as refused, blaming("patch", "patch[3]"):
        raise BadRequest(said)
    assert refused.value.message == "patch[3]: it is empty"


def test_each_error_keeps_its_status() -> None:
    with pytest.raises(OpenAIError) as refused, blaming("capture"):
        raise RequestTooLarge("a run", 10, 1, "capture less")
    assert refused.value.status_code == 413


def test_what_the_client_cannot_fix_is_not_blamed_on_a_field() -> None:
    with pytest.raises(EngineError, match="broken"), blaming("patch"):
        raise EngineError("broken")
