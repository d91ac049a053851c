"""What two models have in common is held once, and what a model takes is known beforehand."""

from pathlib import Path
from typing import cast

import pytest
import torch

from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.load import load_model, load_steps
from sonde.backends.torch.loading.loaded import Loaded
from sonde.backends.torch.loading.sharing import bytes_to_load, held_bytes, share, share_laid_out
from tests.tiny_model import save_tiny_model, tiny_llama

CPU = torch.device("cpu")


def loaded_beside(base: TorchBackend, directory: Path) -> Loaded:
    steps = load_steps("again", directory=directory, device="cpu", say=print, beside=[base.model])
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            return cast(Loaded, ended.value)


def test_the_same_bits_are_held_once_and_other_bits_stay() -> None:
    one, two = tiny_llama(), tiny_llama()
    norm = two.model.norm.weight
    norm.data = norm.data.clone()
    norm.data[0] += 1
    alone = held_bytes([one])
    share(two, [one])
    assert two.lm_head.weight is one.model.embed_tokens.weight, "tied ones stay tied"
    assert two.model.layers[0].mlp.up_proj.weight is one.model.layers[0].mlp.up_proj.weight
    assert two.model.norm.weight is norm
    assert held_bytes([one, two]) - alone < alone / 10


def test_zeros_of_both_signs_are_not_the_same() -> None:
    one, two = tiny_llama(), tiny_llama()
    one.model.norm.weight.data.fill_(0.0)
    two.model.norm.weight.data.fill_(-0.0)
    share(two, [one])
    assert two.model.norm.weight is not one.model.norm.weight


def test_laid_out_copies_are_shared_too_and_every_answer_stays(tmp_path: Path) -> None:
    directory = str(save_tiny_model(tmp_path))
    base = TorchBackend(load_model(directory, device="cpu"))
    again = TorchBackend(loaded_beside(base, tmp_path))
    twice = held_bytes([base.model, again.model])
    share_laid_out(again.model, [base.model])
    shared = held_bytes([base.model, again.model])
    assert held_bytes([base.model]) == pytest.approx(shared, rel=0.01)
    assert twice > 1.2 * shared
    alone = TorchBackend(load_model(directory, device="cpu"))
    hooks, layers, positions = ["post_block"], [0, 1], [0, 1, 2]
    for backend in (again, alone):
        backend.capture("r", [5, 6, 7], hooks, layers, positions)  # type: ignore[arg-type]
    assert again.describe().weights == alone.describe().weights
    assert again._runs._entries["r"].contents == alone._runs._entries["r"].contents


@pytest.mark.parametrize(("dtype", "smaller"), [(torch.float32, 1), (torch.bfloat16, 2), (None, 1)])
def test_what_a_model_will_take_is_read_from_its_files_heads(
    tmp_path: Path, dtype: torch.dtype | None, smaller: int
) -> None:
    save_tiny_model(tmp_path)
    plain = held_bytes([tiny_llama()])
    told = bytes_to_load(tmp_path, dtype, CPU)
    if dtype == torch.float32:
        backend = TorchBackend(load_model(str(tmp_path), device="cpu"))
        assert told == pytest.approx(held_bytes([backend.model]), rel=0.01)
    else:
        assert told == pytest.approx(plain / smaller, rel=0.01)
    (tmp_path / "model.safetensors").write_bytes(b"none")
    assert bytes_to_load(tmp_path, dtype, CPU) == 0, "loading says what is wrong with it"
