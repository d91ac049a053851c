"""Load a PEFT adapter as the model it stands for: its base with the adapter merged in.

Merged, because a training checkpoint is then swept like any other model, with plain layers and
weights of its own. Merged weights are rounded to the base's dtype: in bfloat16 the small changes
of an early checkpoint may round away, so compare checkpoints in float32.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch
from peft import PeftConfig, PeftModel
from peft.tuners.lora import LoraLayer
from torch import nn
from transformers import PreTrainedModel

from sonde.backends.torch.loading.aliases import ALIASES
from sonde.backends.torch.loading.checkpoint import UNREADABLE, load_directory
from sonde.backends.torch.loading.locate import locate, looks_like_a_path, older_names
from sonde.backends.torch.loading.reasons import one_line
from sonde.errors import BadRequest, UnknownModel

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
TIED = r"(?s).*(tie_word_embeddings|no longer tied)"
"""What PEFT says of adapters on tied matrices; `untie_if_adapted` deals with it."""


def is_adapter(directory: Path) -> bool:
    """Whether the directory holds an adapter and not a whole model."""
    return (directory / CONFIG).is_file()


def load_adapter(
    adapter: Path,
    base: Path,
    dtype: torch.dtype | None,
    device: torch.device,
    say: Callable[[str], None],
) -> PreTrainedModel:
    """The model in `base` with the weights of `adapter` merged into it."""
    if not (adapter / WEIGHTS).is_file():
        raise BadRequest(f"the adapter {adapter} has no {WEIGHTS}; pickles are not opened")
    model = load_directory(base, dtype, device, say)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=TIED)
            return _merge(model, adapter, device)
    except UNREADABLE as error:
        raise BadRequest(f"the adapter {adapter} does not fit {base}: {one_line(error)}") from error


def _merge(model: PreTrainedModel, adapter: Path, device: torch.device) -> PreTrainedModel:
    wrapped = PeftModel(model, PeftConfig.from_pretrained(adapter))
    report = wrapped.load_adapter(str(adapter), "default", torch_device=str(device))
    if strays := [*report.missing_keys, *report.unexpected_keys]:
        raise BadRequest(
            f"the adapter {adapter} does not fit its base model: no match for {strays[0]}"
        )
    untie_if_adapted(model)
    return wrapped.merge_and_unload()


def untie_if_adapted(model: PreTrainedModel) -> None:
    """Give the output its own weights when an adapter sits on either of two tied matrices.

    Merging writes into the one shared matrix, for the side that was adapted and, wrongly, for the
    other one: a model that nobody trained. PEFT warns of it and goes on.
    """
    inputs, outputs = model.get_input_embeddings(), model.get_output_embeddings()
    if isinstance(inputs, LoraLayer) or isinstance(outputs, LoraLayer):
        plain = outputs.get_base_layer() if isinstance(outputs, LoraLayer) else outputs
        plain.weight = nn.Parameter(plain.weight.detach().clone())
        model.config.tie_word_embeddings = False


class MayOpen(Protocol):
    """Whether a base may be opened, for whom an adapter must not lead anywhere. Raises if not."""

    def __call__(self, adapter: Path, base: Path | str) -> None:
        """`base` is a directory or, before it is looked up or downloaded, a Hugging Face id."""
        ...


def find_base(adapter: Path, say: Callable[[str], None], may_open: MayOpen | None = None) -> Path:
    """The directory of the model the adapter was trained over, wherever it lies here."""
    allowed = may_open or _anything
    base = recorded_base(adapter)
    for folder in (Path(), adapter.absolute(), *adapter.absolute().parents):
        if base not in ALIASES and (folder / base).is_dir():
            allowed(adapter, folder / base)
            return _whole_model(folder / base, adapter)
    try:
        if alias := alias_in_path(base):
            return _same_build(alias, base, say)
        if base not in ALIASES:
            allowed(adapter, Path(base) if looks_like_a_path(base) else base)
        return _whole_model(locate(base, say).directory, adapter)
    except UnknownModel as error:
        raise UnknownModel(f"the adapter {adapter} needs its base model: {error}") from error


def _anything(adapter: Path, base: Path | str) -> None:
    """What is loaded here was named by the operator."""


def recorded_base(adapter: Path) -> str:
    """What the adapter's configuration calls its base."""
    try:
        config = PeftConfig.from_pretrained(adapter)
    except (*UNREADABLE, TypeError) as error:
        raise BadRequest(f"cannot read {adapter / CONFIG}: {one_line(error)}") from error
    if config.is_prompt_learning:
        raise BadRequest(f"{adapter} is {config.peft_type.value}: prompts cannot be merged")
    if not config.base_model_name_or_path:
        raise BadRequest(
            f"{adapter / CONFIG} does not say which model the adapter was trained over; "
            'write its path or id there as "base_model_name_or_path"'
        )
    return str(config.base_model_name_or_path)


def alias_in_path(base: str) -> str | None:
    """The alias whose converted copy `base` was, in the cache of some other machine."""
    stem = Path(base).name.rpartition("-")[0]
    return stem if looks_like_a_path(base) and stem in ALIASES else None


def tokens_of(adapter: Path, base: Path) -> Path:
    """The directory with the tokenizer: the adapter's own, where it has one."""
    return adapter if (adapter / "tokenizer_config.json").is_file() else base


def _same_build(alias: str, base: str, say: Callable[[str], None]) -> Path:
    here = locate(alias, say).directory
    trained = Path(base).name
    if trained != here.name and trained not in older_names(alias):
        raise UnknownModel(
            f"it was trained over {trained}, and the {alias} installed here is "
            f"{here.name}; install the version of {ALIASES[alias].distribution} it was trained with"
        )
    return here


def _whole_model(base: Path, adapter: Path) -> Path:
    if is_adapter(base):
        raise BadRequest(f"{base}, the base of the adapter {adapter}, is itself an adapter")
    return base
