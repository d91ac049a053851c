"""An OpenAI-protocol address is asked as it should be, and what it refuses is one line."""

import pytest

from sonde.errors import BadRequest
from sonde.sae.labelling.asking import KEY, asking
from tests.sae.labelling.oracle import serving


def echo(system: str, user: str) -> str:
    return f"{system}|{user}"


def test_the_only_model_is_found_and_answers() -> None:
    with serving(echo) as url, asking(url.removesuffix("/v1"), None) as asked:
        assert asked.name == f"oracle at {url.split('/')[2]}"
        assert asked.answer("be brief", "what?", 4) == "be brief|what?"


def test_of_several_models_one_has_to_be_named() -> None:
    with serving(echo, models=("a", "b")) as url:
        with (
            pytest.raises(BadRequest, match=r"has 2 models \(a, b\).*--explainer-model"),
            asking(url, None),
        ):
            pass
        with asking(url, "b") as asked:
            assert asked.answer("", "x", 1) == "|x"


def test_a_key_comes_from_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    with serving(echo, key="secret") as url:
        with (
            asking(url, "oracle") as asked,
            pytest.raises(BadRequest, match=f"answered 401 to chat/completions.*{KEY}"),
        ):
            asked.answer("", "x", 1)
        monkeypatch.setenv(KEY, "secret")
        with asking(url, "oracle") as asked:
            assert asked.answer("", "x", 1) == "|x"


def test_a_key_follows_no_redirect() -> None:
    with (
        serving(lambda _system, _user: "REDIRECT") as url,
        asking(url, "oracle") as asked,
        pytest.raises(BadRequest, match="answered 307"),
    ):
        asked.answer("", "x", 1)


@pytest.mark.parametrize("url", ["127.0.0.1:8091", "file:///etc/passwd", "http://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(BadRequest, match="is no address"), asking(url, None):
        pass


def test_where_nobody_answers_that_is_said() -> None:
    said = r"nobody answers at http://127\.0\.0\.1:9/v1"
    with pytest.raises(BadRequest, match=said), asking("http://127.0.0.1:9", None):
        pass
