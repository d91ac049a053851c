"""A training run on disk: whole or absent, and only for the run it belongs to."""

from pathlib import Path

import pytest
import torch

from sonde.errors import BadRequest
from sonde.sae.training_state import STATE, load, remove, save

SAID = {"recipe": {"k": 4}, "site": {"hook": "post_block", "layers": (0, 7)}}
CPU = torch.device("cpu")


def layers(value: float) -> dict[int, dict[str, torch.Tensor]]:
    return {layer: {"W": torch.full((2, 3), value + layer)} for layer in (0, 7)}


def test_a_state_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    assert load(tmp_path, SAID, CPU) is None
    save(tmp_path / "new", SAID, 3, 1200, layers(0.5))
    saved = load(tmp_path / "new", SAID, CPU)
    assert saved is not None
    assert (saved.rounds, saved.tokens) == (3, 1200)
    assert sorted(saved.layers) == [0, 7]
    assert torch.equal(saved.layers[7]["W"], torch.full((2, 3), 7.5))


def test_only_the_latest_state_is_kept(tmp_path: Path) -> None:
    save(tmp_path, SAID, 1, 100, layers(0.0))
    save(tmp_path, SAID, 2, 200, layers(1.0))
    assert len(list(tmp_path.glob("*.safetensors"))) == 2
    saved = load(tmp_path, SAID, CPU)
    assert saved is not None
    assert saved.rounds == 2


def test_tensors_written_before_a_crash_are_not_taken_for_a_state(tmp_path: Path) -> None:
    save(tmp_path, SAID, 1, 100, layers(0.0))
    state = (tmp_path / STATE).read_text()
    kept = {file.name: file.read_bytes() for file in tmp_path.glob("*.safetensors")}
    save(tmp_path, SAID, 2, 200, layers(1.0))
    (tmp_path / STATE).write_text(state)
    for name, content in kept.items():
        (tmp_path / name).write_bytes(content)
    saved = load(tmp_path, SAID, CPU)
    assert saved is not None
    assert float(saved.layers[0]["W"][0, 0]) == 0


def test_a_state_of_another_run_is_refused_with_what_differs(tmp_path: Path) -> None:
    save(tmp_path, SAID, 1, 100, layers(0.0))
    with pytest.raises(BadRequest, match="recipe {'k': 4}, and this one has {'k': 5}"):
        load(tmp_path, {**SAID, "recipe": {"k": 5}}, CPU)


@pytest.mark.parametrize("damage", ["json", "tensors", "missing"])
def test_a_damaged_state_is_refused_with_a_way_out(tmp_path: Path, damage: str) -> None:
    save(tmp_path, SAID, 1, 100, layers(0.0))
    file = next(tmp_path.glob("*.safetensors"))
    if damage == "json":
        (tmp_path / STATE).write_text("{")
    elif damage == "tensors":
        file.write_bytes(b"\xff" * 8)
    else:
        file.unlink()
    with pytest.raises(BadRequest, match="remove that directory"):
        load(tmp_path, SAID, CPU)


def test_a_run_that_has_ended_leaves_nothing(tmp_path: Path) -> None:
    save(tmp_path / "state", SAID, 1, 100, layers(0.0))
    remove(tmp_path / "state")
    remove(tmp_path / "state")
    assert list(tmp_path.iterdir()) == []
