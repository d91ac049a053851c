from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel

from sonde.backends.torch.loading.checkpoint import load_directory, refuse_non_finite
from sonde.errors import BadRequest, UnknownModel
from tests.tiny_model import save_tiny_model, tiny_llama

UP = "model.layers.0.mlp.up_proj.weight"


def load(directory: Path, said: list[str] | None = None) -> PreTrainedModel:
    say = (said if said is not None else []).append
    return load_directory(directory, torch.float32, torch.device("cpu"), say)


def rewrite(directory: Path, **changes: torch.Tensor | None) -> None:
    """Replace tensors of the checkpoint by name; None takes one out."""
    weights = load_file(directory / "model.safetensors") | changes
    kept = {name: weight for name, weight in weights.items() if weight is not None}
    save_file(kept, directory / "model.safetensors", metadata={"format": "pt"})


def test_a_saved_model_comes_back_bit_for_bit(tmp_path: Path) -> None:
    loaded = load(save_tiny_model(tmp_path)).state_dict()
    for name, weight in tiny_llama().state_dict().items():
        assert torch.equal(loaded[name], weight)


def test_a_missing_weight_is_not_drawn_at_random(tmp_path: Path) -> None:
    rewrite(save_tiny_model(tmp_path), **{UP: None})
    with pytest.raises(BadRequest, match=rf"lacks 1 weights that LlamaForCausalLM needs.*{UP}"):
        load(tmp_path)


def test_a_weight_of_another_shape_is_refused(tmp_path: Path) -> None:
    rewrite(save_tiny_model(tmp_path), **{UP: torch.zeros(3, 3)})
    with pytest.raises(BadRequest, match="cannot load"):
        load(tmp_path)


def test_a_tensor_without_a_place_is_reported(tmp_path: Path) -> None:
    rewrite(save_tiny_model(tmp_path), **{"v_head.weight": torch.zeros(1)})
    said: list[str] = []
    load(tmp_path, said)
    assert said == ["left out 1 tensors that the architecture does not use: ['v_head.weight']"]


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    save_tiny_model(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04would run when opened")
    with pytest.raises(BadRequest, match=r"pickle \(pytorch_model.bin\).*save_pretrained"):
        load(tmp_path)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    weights = save_tiny_model(tmp_path) / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    with pytest.raises(BadRequest, match=r"cannot load .*header"):
        load(tmp_path)


def test_code_beside_the_weights_is_not_run(tmp_path: Path) -> None:
    config = save_tiny_model(tmp_path) / "config.json"
    theirs = (
        '"model_type": "theirs", "auto_map": {"AutoConfig": "c.C", "AutoModelForCausalLM": "c.M"}'
    )
    config.write_text(config.read_text().replace('"model_type": "llama"', theirs))
    (tmp_path / "c.py").write_text("raise SystemExit('ran')")
    with pytest.raises(BadRequest, match="needs Python code .* does not run that"):
        load(tmp_path)


def test_a_directory_without_weights_is_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match=r"no \.safetensors file.*smollm2"):
        load(tmp_path)


def test_a_directory_with_a_gguf_says_to_name_the_file(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    with pytest.raises(UnknownModel, match=r"it holds m\.gguf: name that file"):
        load(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_weight_that_is_not_a_number_is_named(value: float, dtype: torch.dtype) -> None:
    model = tiny_llama().to(dtype)
    refuse_non_finite(model.named_parameters())
    model.model.layers[1].mlp.up_proj.weight.data[3, 2] = value
    with pytest.raises(BadRequest, match=r"model\.layers\.1\.mlp\.up_proj\.weight has a NaN"):
        refuse_non_finite(model.named_parameters())


def test_writing_over_the_file_does_not_change_the_loaded_model(tmp_path: Path) -> None:
    model = load(save_tiny_model(tmp_path))
    file = tmp_path / "model.safetensors"
    with file.open("r+b") as opened:
        opened.write(b"\0" * file.stat().st_size)
    assert torch.equal(model.model.norm.weight, torch.ones(16))
    for name, weight in tiny_llama().state_dict().items():
        assert torch.equal(model.state_dict()[name], weight)


def test_tied_weights_stay_tied(tmp_path: Path) -> None:
    model = load(save_tiny_model(tmp_path))
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
