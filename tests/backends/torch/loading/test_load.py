from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from sonde.backends.torch.loading import load as module
from sonde.backends.torch.loading.fingerprint import fingerprint
from sonde.backends.torch.loading.load import load_model
from sonde.backends.torch.loading.loaded import Loaded
from sonde.errors import BadRequest, UnknownModel
from tests.tiny_model import save_tiny_model, tiny_llama

TOKENS = torch.arange(10)[None]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return save_tiny_model(tmp_path / "tiny")


def test_a_directory_is_loaded_frozen_in_eval_mode_and_with_its_name(directory: Path) -> None:
    loaded = load_model(str(directory), device="cpu")
    assert torch.equal(loaded.model(TOKENS).logits, tiny_llama()(TOKENS).logits)
    assert not loaded.model.training
    assert not any(weight.requires_grad for weight in loaded.model.parameters())
    assert (loaded.name, loaded.dtype, loaded.device) == (str(directory), "float32", "cpu")
    assert loaded.fingerprint == fingerprint(loaded.model)
    assert loaded.model.name_or_path == str(directory)


def test_progress_is_told_in_lines_for_people(directory: Path) -> None:
    said: list[str] = []
    load_model(str(directory), device="cpu", progress=said.append)
    assert said[0] == f"loading {directory}"
    assert said[1].startswith(f"loaded {directory} (0.00918M parameters, float32, cpu) in 0.")
    assert len(said) == 2


def test_nothing_is_printed(directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
    capfd.readouterr()
    load_model(str(directory), device="cpu")
    assert capfd.readouterr() == ("", "")


def test_weights_that_are_not_numbers_are_refused_by_name(directory: Path) -> None:
    weights = load_file(directory / "model.safetensors")
    weights["model.layers.1.self_attn.v_proj.weight"][0, 0] = torch.nan
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BadRequest, match=r"model\.layers\.1\.self_attn\.v_proj\.weight has a NaN"):
        load_model(str(directory), device="cpu")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_dtype_asked_for_is_the_dtype_loaded(directory: Path, dtype: str) -> None:
    loaded = load_model(str(directory), device="cpu", dtype=dtype)
    assert loaded.dtype == dtype
    assert {weight.dtype for weight in loaded.model.parameters()} == {getattr(torch, dtype)}


def test_without_a_dtype_it_is_float32_on_the_cpu_and_the_checkpoints_own_elsewhere() -> None:
    assert module.choose_dtype(None, torch.device("cpu")) is torch.float32
    assert module.choose_dtype(None, torch.device("cuda")) is None


def test_the_checkpoints_own_dtype_is_kept_when_none_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_llama().bfloat16().save_pretrained(save_tiny_model(tmp_path))
    assert load_model(str(tmp_path), device="cpu").dtype == "float32"
    monkeypatch.setattr(module, "choose_dtype", lambda dtype, device: None)
    assert load_model(str(tmp_path), device="cpu").dtype == "bfloat16"


def test_a_dtype_that_is_not_supported_is_refused_with_those_that_are(directory: Path) -> None:
    with pytest.raises(BadRequest, match=r"'int8'.*'float32', 'float16', 'bfloat16'"):
        load_model(str(directory), dtype="int8")


@pytest.mark.parametrize("device", ["cuda:99", "tpu", "CPU", ""])
def test_a_device_that_is_not_here_is_refused_with_those_that_are(
    directory: Path, device: str
) -> None:
    with pytest.raises(BadRequest, match=rf"'{device}' is not available here; available: \['cpu'"):
        load_model(str(directory), device=device)


def test_without_a_device_it_is_the_gpu_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert module.choose_device(None) == torch.device("cuda")
    assert module.choose_device("cuda:1") == torch.device("cuda:1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert module.choose_device(None) == torch.device("cpu")


def test_a_size_is_told_in_millions_or_billions() -> None:
    model = tiny_llama()
    loaded = Loaded("m", model, None, "f", "float32", "cpu")
    model.lm_head = torch.nn.Linear(40_000, 50_000, device="meta")
    assert module.summary(loaded) == "m (2.0B parameters, float32, cpu)"


@pytest.mark.parametrize("name", ["./missing", "missing.gguf"])
def test_a_name_that_leads_nowhere_lists_what_would_work(name: str) -> None:
    with pytest.raises(UnknownModel, match=r"smollm2.*Hugging Face id.*adapter.*\.gguf"):
        load_model(name)


@pytest.fixture(scope="module")
def smollm2_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def no_network(*_address: object) -> None:
    raise AssertionError("a network was asked")


@pytest.mark.slow
def test_smollm2_is_converted_once_and_knows_where_the_eiffel_tower_is(
    smollm2_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the wheel: nothing is asked of a network."""
    monkeypatch.setenv("SONDE_CACHE", str(smollm2_cache))
    monkeypatch.setattr("socket.socket.connect", no_network)
    first_said: list[str] = []
    again_said: list[str] = []
    first = load_model("smollm2", device="cpu", progress=first_said.append)
    again = load_model("smollm2", device="cpu", progress=again_said.append)
    assert "converting" in first_said[0]
    assert again_said[0] == "loading smollm2"
    assert again_said[1].startswith("loaded smollm2 (135M parameters, float32, cpu)")

    prompt = first.tokenizer("The Eiffel Tower is in the city of", return_tensors="pt")
    logits = first.model(**prompt).logits[0, -1]
    assert first.tokenizer.decode(logits.argmax()) == " Paris"
    assert torch.equal(again.model(**prompt).logits[0, -1], logits)
    assert again.fingerprint == first.fingerprint
    assert sum(weight.numel() for weight in first.model.parameters()) == 134_515_008


@pytest.mark.slow
def test_smollm2_splits_numbers_as_it_was_trained(
    smollm2_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SONDE_CACHE", str(smollm2_cache))
    tokenizer = load_model("smollm2", device="cpu").tokenizer
    pieces = [tokenizer.decode([token]) for token in tokenizer("In 42:\n\n1. a").input_ids]
    assert pieces == ["In", " ", "4", "2", ":", "\n\n", "1", ".", " a"]
    assert tokenizer.is_fast
