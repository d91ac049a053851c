"""What is written down of a sweep is what is told of it, and never the text of a bug."""

from sonde.errors import BadRequest
from sonde.server.book import said


def test_a_client_is_told_our_own_words_and_not_those_of_a_bug() -> None:
    assert said(BadRequest("layer 9 is out of range")) == "layer 9 is out of range"
    assert "secret" not in said(KeyError("secret"))
    assert "KeyError" in said(KeyError("secret"))
