"""numpy archives: plain numbers only, and no array larger than what the file holds."""

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from sonde.errors import BadWeights, DamagedFile
from sonde.sae.files.npz import read_npz


def archive(path: Path, members: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", how) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


def npy(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


@pytest.mark.parametrize("compressed", [False, True])
def test_arrays_are_read(tmp_path: Path, compressed: bool) -> None:
    held = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(4, ">f8")}
    (np.savez_compressed if compressed else np.savez)(tmp_path / "p.npz", **held)  # type: ignore[arg-type]

    found = read_npz(tmp_path / "p.npz")

    assert found["a"].equal(torch.arange(6.0).view(2, 3))
    assert found["b"].equal(torch.ones(4, dtype=torch.float64))


def test_column_order_is_kept(tmp_path: Path) -> None:
    a = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    np.savez(tmp_path / "p.npz", a=a)

    assert read_npz(tmp_path / "p.npz")["a"].equal(torch.arange(6.0).view(2, 3))


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    path = archive(tmp_path / "p.npz", {"a.npy": npy(np.array([{"x": 1}], dtype=object))})

    with pytest.raises(BadWeights, match=r"a\.npy holds object, expected numbers"):
        read_npz(path)


def test_a_header_that_claims_more_than_there_is_is_refused(tmp_path: Path) -> None:
    content = npy(np.zeros(4, np.float32)).replace(b"(4,), }", b"(4000000000000,), }")
    path = archive(tmp_path / "p.npz", {"a.npy": content})

    with pytest.raises(DamagedFile, match=r"a\.npy is \[4000000000000\] float32"):
        read_npz(path)


def test_an_archive_that_unpacks_to_far_more_is_not_unpacked(tmp_path: Path) -> None:
    content = npy(np.zeros(2**22, np.float32))
    path = archive(tmp_path / "p.npz", {"a.npy": content}, zipfile.ZIP_DEFLATED)

    with pytest.raises(DamagedFile, match="claims to unpack"):
        read_npz(path)


def test_two_arrays_of_one_name_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "p.npz", {"a.npy": npy(np.ones(2))})
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as made:
        made.writestr("a.npy", npy(np.zeros(2)))

    with pytest.raises(DamagedFile, match="two arrays of one name"):
        read_npz(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", pickle.dumps([1]), b"\x93NUMPY"])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.npz").write_bytes(content)

    with pytest.raises(DamagedFile, match=r"not a whole \.npz file"):
        read_npz(tmp_path / "p.npz")
