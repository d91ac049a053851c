"""A torch file is opened without running anything, and no tensor claims what is not there."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from sonde.errors import BadWeights, DamagedFile, UnsafeFile
from sonde.sae.files.pickles import read_pickle
from sonde.sae.load import load_autoencoder


class Malicious:
    """Unpickling it makes a file: what an attacker would put his own command for."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.target}",)


def test_tensors_and_plain_values_are_read(tmp_path: Path) -> None:
    torch.save({"W": torch.arange(3.0), "k": 5, "name": "TopK"}, tmp_path / "a.pt")

    found = read_pickle(tmp_path / "a.pt")

    assert found["W"].equal(torch.arange(3.0))
    assert (found["k"], found["name"]) == (5, "TopK")


def test_the_trap_of_these_tests_works(tmp_path: Path) -> None:
    """Otherwise the tests below would prove nothing."""
    pickle.loads(pickle.dumps(Malicious(tmp_path / "ran")))

    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["layer0.sae.pt", "ae.pth"])
def test_a_malicious_torch_file_runs_nothing_and_says_what_is_safe(
    tmp_path: Path, name: str
) -> None:
    torch.save({"W_enc": torch.ones(2, 2), "more": Malicious(tmp_path / "ran")}, tmp_path / name)

    with pytest.raises(UnsafeFile, match=r"torch pickle that asks for more.*safetensors"):
        load_autoencoder(tmp_path / name)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("folder", ["", "cfg.json"])
def test_a_malicious_file_renamed_to_safetensors_runs_nothing(tmp_path: Path, folder: str) -> None:
    path = tmp_path / "sae.safetensors"
    torch.save(Malicious(tmp_path / "ran"), path)
    if folder:
        (tmp_path / folder).write_text('{"d_in": 2, "k": 1}')

    with pytest.raises(UnsafeFile, match=r"is a torch pickle.*safetensors"):
        load_autoencoder(path)
    path.write_bytes(pickle.dumps(Malicious(tmp_path / "ran")))
    with pytest.raises(UnsafeFile, match=r"is a torch pickle.*safetensors"):
        load_autoencoder(path)
    assert not (tmp_path / "ran").exists()


def test_a_bare_pickle_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(pickle.dumps(Malicious(tmp_path / "ran")))

    with pytest.raises(UnsafeFile, match="not a torch zip archive"):
        read_pickle(tmp_path / "a.pt")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_a_truncated_file_is_refused(tmp_path: Path, keep: float) -> None:
    path = tmp_path / "a.pt"
    torch.save({"W": torch.randn(400, 40)}, path)
    path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])

    with pytest.raises((UnsafeFile, DamagedFile), match=r"a\.pt"):
        read_pickle(path)


def test_a_tensor_larger_than_its_file_is_refused(tmp_path: Path) -> None:
    """Strides of 0 make terabytes of one number."""
    torch.save({"W": torch.ones(1).expand(10**6, 10**6)}, tmp_path / "a.pt")

    with pytest.raises(DamagedFile, match="W claims 4,000,000,000,000 bytes"):
        read_pickle(tmp_path / "a.pt")


@pytest.mark.parametrize("content", [torch.ones(3), [1, 2], {1: torch.ones(2)}])
def test_what_is_no_dict_of_names_is_refused(tmp_path: Path, content: object) -> None:
    torch.save(content, tmp_path / "a.pt")

    with pytest.raises(BadWeights, match="expected a dict of tensors by name"):
        read_pickle(tmp_path / "a.pt")


def test_sparse_tensors_are_refused(tmp_path: Path) -> None:
    torch.save({"W": torch.eye(3).to_sparse()}, tmp_path / "a.pt")

    with pytest.raises(BadWeights, match="W is torch.sparse_coo"):
        read_pickle(tmp_path / "a.pt")
