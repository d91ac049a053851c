import json
import warnings
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PromptTuningConfig, get_peft_model
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM

from sonde.backends.torch.loading import adapter as module
from sonde.backends.torch.loading.load import load_model
from sonde.backends.torch.loading.loaded import Loaded
from sonde.backends.torch.loading.locate import Located
from sonde.errors import BadRequest, RequestError, UnknownModel
from tests.tiny_model import END, save_tiny_model, tiny_tokenizer

TOKENS = torch.arange(10)[None]


def train(base: Path, adapter: Path, **lora: object) -> Tensor:
    """Save an adapter with random weights over `base`; the logits of the two together."""
    settings = {"r": 2, "target_modules": ["q_proj", "down_proj"], "init_lora_weights": False}
    model = AutoModelForCausalLM.from_pretrained(base)
    torch.manual_seed(1)
    tuned = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **(settings | lora))).eval()
    for weight in tuned.parameters():
        weight.data += 0.1 * torch.randn_like(weight) * weight.requires_grad
    tuned.save_pretrained(adapter)
    return tuned(TOKENS).logits.detach()


def load(adapter: Path) -> Loaded:
    return load_model(str(adapter), device="cpu")


def call_base(adapter: Path, base: str | None) -> None:
    """Write another base into the adapter's configuration."""
    file = adapter / "adapter_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"base_model_name_or_path": base}))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return save_tiny_model(tmp_path / "base")


@pytest.fixture
def adapter(tmp_path: Path, base: Path) -> Path:
    train(base, tmp_path / "adapter")
    return tmp_path / "adapter"


def test_the_merged_model_is_the_base_with_its_adapter(tmp_path: Path, base: Path) -> None:
    expected = train(base, tmp_path / "adapter")
    loaded = load(tmp_path / "adapter")
    torch.testing.assert_close(loaded.model(TOKENS).logits, expected, rtol=1e-4, atol=1e-5)
    alone = load_model(str(base), device="cpu")
    assert not torch.allclose(alone.model(TOKENS).logits, expected, atol=0.1)
    assert alone.fingerprint != loaded.fingerprint


def test_the_merged_model_has_plain_layers(adapter: Path) -> None:
    loaded = load(adapter)
    assert type(loaded.model).__name__ == "LlamaForCausalLM"
    assert not [name for name, _ in loaded.model.named_modules() if "lora" in name]


@pytest.mark.parametrize(
    "settings",
    [
        {"target_modules": ["embed_tokens", "q_proj"]},
        {"target_modules": ["lm_head", "q_proj"]},
        {"target_modules": ["embed_tokens"], "ensure_weight_tying": True},
        {"modules_to_save": ["lm_head"]},
        {"modules_to_save": ["embed_tokens"], "ensure_weight_tying": True},
        {"trainable_token_indices": [1, 2, 3]},
    ],
    ids=str,
)
def test_an_adapter_on_tied_matrices_merges_to_what_was_trained(
    tmp_path: Path, base: Path, settings: dict[str, object]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        expected = train(base, tmp_path / "adapter", **settings)
    model = load(tmp_path / "adapter").model
    torch.testing.assert_close(model(TOKENS).logits, expected, rtol=1e-4, atol=1e-4)
    shared = model.get_input_embeddings().weight is model.get_output_embeddings().weight
    assert model.config.tie_word_embeddings == shared


def test_the_adapters_own_tokenizer_is_used_when_it_has_one(adapter: Path) -> None:
    assert load(adapter).tokenizer.pad_token == END
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"pad_token": "<|pad|>"})
    tokenizer.save_pretrained(adapter)
    assert load(adapter).tokenizer.pad_token == "<|pad|>"


def test_a_base_recorded_relative_to_the_training_folder_is_found(
    adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_base(adapter, "base")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert load(adapter).name == str(adapter)


def test_a_base_that_is_gone_is_named(adapter: Path) -> None:
    call_base(adapter, "/home/them/models/base-7b")
    with pytest.raises(UnknownModel, match=r"adapter .*/adapter needs .*/home/them/models/base-7b"):
        load(adapter)


def test_a_configuration_without_a_base_says_where_to_write_it(adapter: Path) -> None:
    call_base(adapter, None)
    with pytest.raises(BadRequest, match=r"adapter_config\.json.*base_model_name_or_path"):
        load(adapter)


def test_an_adapter_over_an_adapter_is_refused(adapter: Path) -> None:
    call_base(adapter, str(adapter))
    with pytest.raises(BadRequest, match="is itself an adapter"):
        load(adapter)


def found_here(build: str) -> object:
    return lambda name, say: Located(Path("/here/models") / build, name)


def test_an_aliases_copy_on_another_machine_is_the_alias_here(
    adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_base(adapter, "/home/them/.cache/sonde/models/smollm2-0123456789abcdef")
    monkeypatch.setattr(module, "locate", found_here("smollm2-0123456789abcdef"))
    found = module.find_base(adapter, print)
    assert found == Path("/here/models/smollm2-0123456789abcdef")


def test_another_build_of_the_alias_is_not_the_same_base(
    adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_base(adapter, "/home/them/.cache/sonde/models/smollm2-0123456789abcdef")
    monkeypatch.setattr(module, "locate", found_here("smollm2-fedcba9876543210"))
    monkeypatch.setattr(module, "older_names", lambda alias: [f"{alias}-ffffffffffffffff"])
    with pytest.raises(UnknownModel, match=r"smollm2-0123456789abcdef.*install the version"):
        module.find_base(adapter, print)


def test_the_same_build_under_an_older_recipe_is_the_same_base(
    adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_base(adapter, "/home/them/.cache/sonde/models/smollm2-0123456789abcdef")
    monkeypatch.setattr(module, "locate", found_here("smollm2-fedcba9876543210"))
    monkeypatch.setattr(module, "older_names", lambda alias: [f"{alias}-0123456789abcdef"])
    assert module.find_base(adapter, print).name == "smollm2-fedcba9876543210"


def test_a_base_called_by_its_alias_is_the_alias(
    adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_base(adapter, "smollm2")
    monkeypatch.setattr(module, "locate", found_here("smollm2-0123456789abcdef"))
    assert module.find_base(adapter, print).name == "smollm2-0123456789abcdef"


def test_an_adapter_for_a_deeper_model_is_refused(adapter: Path) -> None:
    file = adapter / "adapter_model.safetensors"
    weights = load_file(file)
    deeper = {key.replace("layers.1.", "layers.7."): one.clone() for key, one in weights.items()}
    save_file(weights | deeper, file)
    with pytest.raises(BadRequest, match=r"does not fit .*layers\.7\."):
        load(adapter)


def test_an_adapter_that_lacks_weights_is_refused(adapter: Path) -> None:
    file = adapter / "adapter_model.safetensors"
    weights = load_file(file)
    weights.pop(next(iter(weights)))
    save_file(weights, file)
    with pytest.raises(BadRequest, match=r"does not fit .*no match for"):
        load(adapter)


def test_a_pickled_adapter_is_not_opened(adapter: Path) -> None:
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
    with pytest.raises(BadRequest, match=r"has no adapter_model\.safetensors"):
        load(adapter)


def test_a_learned_prompt_cannot_be_merged(base: Path, tmp_path: Path) -> None:
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), config)
    model.save_pretrained(tmp_path / "prompt")
    with pytest.raises(BadRequest, match="PROMPT_TUNING: prompts cannot be merged"):
        load(tmp_path / "prompt")


def test_a_broken_configuration_is_named(adapter: Path) -> None:
    (adapter / "adapter_config.json").write_text("{")
    with pytest.raises(RequestError, match=r"cannot read .*adapter_config\.json"):
        load(adapter)


@pytest.mark.parametrize("own", [True, False])
def test_01_a_prompt_gets_the_tokens_of_the_adapters_own_tokenizer_or_else_of_its_base(
    adapter: Path, base: Path, own: bool
) -> None:
    (asks, silent) = (adapter, base) if own else (base, adapter)
    if own:
        tiny_tokenizer().save_pretrained(silent)
    ask_for_first_token(asks)
    assert load(adapter).tokenizer("The").input_ids == [0, *tiny_tokenizer()("The").input_ids]


def ask_for_first_token(directory: Path) -> None:
    tiny_tokenizer().save_pretrained(directory)
    file = directory / "tokenizer_config.json"
    asked = {"add_bos_token": True, "tokenizer_class": "LlamaTokenizer"}
    file.write_text(json.dumps(json.loads(file.read_text()) | asked))
