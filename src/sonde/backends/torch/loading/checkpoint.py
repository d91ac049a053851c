"""Load a model directory, or say exactly what is wrong with it.

Stricter than transformers on purpose. A weight that is missing from the files is not drawn at
random, code beside a model is not run, and a pickle is not opened: each would give a model, and
numbers, that nobody asked for.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoModelForCausalLM, PreTrainedModel

from sonde.backends.torch.loading.reasons import one_line, unknown_model
from sonde.errors import BadRequest

UNREADABLE = (OSError, ValueError, RuntimeError, KeyError, ImportError, SafetensorError)
"""What the libraries raise for a bad file, a bad configuration or too little memory."""


def load_directory(
    directory: Path, dtype: torch.dtype | None, device: torch.device, say: Callable[[str], None]
) -> PreTrainedModel:
    """The model in `directory`, on `device`; without a dtype, in the checkpoint's own."""
    refuse_other_formats(directory)
    try:
        model, report = AutoModelForCausalLM.from_pretrained(
            directory,
            dtype=dtype or "auto",
            device_map={"": device},
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
    except UNREADABLE as error:
        raise BadRequest(_cannot_load(directory, error)) from error
    if missing := sorted(report["missing_keys"]):
        raise BadRequest(
            f"{directory} lacks {len(missing)} weights that {type(model).__name__} needs, such as "
            f"{missing[0]}; a model with random weights in their place would mean nothing"
        )
    if unused := sorted(report["unexpected_keys"]):
        say(f"left out {len(unused)} tensors that the architecture does not use: {unused[:3]}")
    own_memory(model)
    return model


def refuse_other_formats(directory: Path) -> None:
    """Name the format that was found where `model.safetensors` should be."""
    files = sorted(file.name for file in directory.iterdir())
    if any(file.endswith(".safetensors") for file in files):
        return
    if pickles := [file for file in files if file.startswith("pytorch_model")]:
        raise BadRequest(
            f"{directory} has its weights in a pickle ({pickles[0]}), which can run any code when "
            "opened. If you trust it, convert it once: AutoModelForCausalLM.from_pretrained("
            "directory).save_pretrained(new_directory), and the same with AutoTokenizer"
        )
    if ggufs := [file for file in files if file.endswith(".gguf")]:
        raise unknown_model(str(directory), f"it holds {ggufs[0]}: name that file instead")
    raise unknown_model(str(directory), "the directory has no .safetensors file")


def refuse_non_finite(parameters: Iterable[tuple[str, nn.Parameter]]) -> None:
    """Name the first parameter with a NaN or an infinity in it.

    One read of the weights, on their device, with nothing allocated: never skipped. Types of one
    byte have no such check in torch and go unchecked. Buffers may hold infinities rightfully.
    """
    for name, weight in parameters:
        if not weight.is_floating_point() or weight.element_size() == 1 or weight.numel() == 0:
            continue
        if not torch.isfinite(torch.stack(torch.aminmax(weight.detach()))).all():
            raise BadRequest(
                f"the weight {name} has a NaN or an infinity in it; every result would be NaN. "
                "Training may have diverged: use an earlier checkpoint"
            )


def own_memory(model: nn.Module) -> None:
    """Copy weights on the CPU out of the checkpoint's file.

    They are a private map of it: while the file is there to be read, one who writes over it
    changes the loaded model. A training run that saves to the same place does just that.
    """
    for weight in (*model.parameters(), *model.buffers()):
        if weight.device.type == "cpu":
            weight.data = weight.data.clone()


def _cannot_load(directory: Path, error: BaseException) -> str:
    reason = one_line(error)
    if "trust_remote_code" in str(error):
        reason = "it needs Python code that comes with the weights, and Sonde does not run that"
    return f"cannot load {directory}: {reason}"
