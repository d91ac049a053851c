"""safetensors that lie about themselves are refused before anything is allocated for them."""

import json
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from sonde.errors import BadAutoencoder, BadWeights, DamagedFile, UnsafeFile
from sonde.sae.files.tensors import check_header, read_tensors

WHOLE = save({"a": torch.arange(6.0).view(2, 3), "b": torch.ones(4, dtype=torch.bfloat16)})


def file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(content)
    return path


def with_header(header: str | dict[str, Any], data: bytes = bytes(16)) -> bytes:
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(shape: list[Any], begin: Any, end: Any, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    found = read_tensors(file(tmp_path, WHOLE))

    assert found["a"].equal(torch.arange(6.0).view(2, 3))
    assert found["b"].dtype == torch.bfloat16
    assert check_header(file(tmp_path, WHOLE)) == {"a": (2, 3), "b": (4,)}


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 20, len(WHOLE) - 1])
def test_a_truncated_file_is_refused(tmp_path: Path, cut: int) -> None:
    with pytest.raises(DamagedFile, match="not a whole safetensors file"):
        read_tensors(file(tmp_path, WHOLE[:cut]))


@pytest.mark.parametrize("length", [2**62, 2**63, 2**64 - 1, 2**32, 10**6])
def test_a_header_longer_than_the_file_is_refused_without_memory(
    tmp_path: Path, length: int
) -> None:
    path = file(tmp_path, struct.pack("<Q", length) + WHOLE[8:])

    tracemalloc.start()
    with pytest.raises(DamagedFile, match=f"claims {length:,} bytes"):
        read_tensors(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 2**20


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"a": entry([2], 0, 8), "b": entry([3], 4, 16)}, "overlap"),
        ({"a": entry([2], 0, 8), "b": entry([1], 12, 16)}, "belong to no tensor"),
        ({"a": entry([2], 0, 8)}, "belong to no tensor"),
        ({"a": entry([4], 0, 16), "b": entry([4], 0, 16)}, "overlap"),
        ({"a": entry([2**40, 2**40], 0, 16)}, r"is F32 .* in 16 bytes"),
        ({"a": entry([4], 16, 0)}, "in -16 bytes"),
        ({"a": entry([-4], 0, 16)}, "has shape"),
        ({"a": entry([4.0], 0, 16)}, "has shape"),
        ({"a": entry([True], 0, 4)}, "has shape"),
        ({"a": entry([4], "0", 16)}, "has shape"),
        ({"a": entry([8], 0, 32)}, "overlap|missing"),
        ({"a": {"dtype": "F32"}}, "no type, shape and offsets"),
        ({"a": 3}, "no type, shape and offsets"),
        ('{"a": ', "not JSON"),
        ("[]", "not a JSON object"),
        ("[" * 10_000, "not JSON"),
        (
            '{"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},'
            ' "a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}',
            "'a' is in it twice",
        ),
    ],
)
def test_a_header_that_contradicts_the_file_is_refused(
    tmp_path: Path, header: str | dict[str, Any], message: str
) -> None:
    with pytest.raises(DamagedFile, match=message):
        read_tensors(file(tmp_path, with_header(header)))


def test_a_type_without_meaning_here_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadWeights, match="'a' is F8_E4M3; expected one of"):
        read_tensors(file(tmp_path, with_header({"a": entry([16], 0, 16, "F8_E4M3")})))


def test_a_pickle_under_this_name_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    torch.save({"a": torch.ones(2)}, path)

    with pytest.raises(UnsafeFile, match=r"is a torch pickle.*safetensors.torch.save_file"):
        read_tensors(path)


@pytest.mark.parametrize("length", [0x80, 0x0280, 0x4B50])
def test_a_header_whose_length_looks_like_the_start_of_a_pickle_is_read(
    tmp_path: Path, length: int
) -> None:
    content = save({"a": torch.ones(4)})
    header = content[8 : 8 + int.from_bytes(content[:8], "little")].ljust(length)
    padded = length.to_bytes(8, "little") + header + content[-16:]
    assert torch.equal(read_tensors(file(tmp_path, padded))["a"], torch.ones(4))


@given(at=st.integers(0, len(WHOLE) - 1), value=st.integers(0, 255))
def test_one_wrong_byte_never_gives_anything_but_tensors_or_a_refusal(at: int, value: int) -> None:
    found: dict[str, torch.Tensor] = {}
    with TemporaryDirectory() as folder, suppress(BadAutoencoder):
        content = WHOLE[:at] + bytes([value]) + WHOLE[at + 1 :]
        found = read_tensors(file(Path(folder), content))
    assert sum(each.numel() for each in found.values()) <= 16
