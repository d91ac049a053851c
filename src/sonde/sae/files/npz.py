"""A numpy archive of plain numbers, its arrays measured before they are read.

Not `numpy.load`: that believes an array's header and allocates what it says.
"""

import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, Final

import numpy as np
import torch
from torch import Tensor

from sonde.errors import BadWeights, DamagedFile

MAX_EXPANSION: Final = 20
"""Weights hardly compress: an archive that claims to unpack to more than this is a trap."""


def read_npz(path: Path) -> dict[str, Tensor]:
    """All arrays of an `.npz` file by name."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_sizes(path, archive)
            return {
                info.filename.removesuffix(".npy"): _array(path, archive, info)
                for info in archive.infolist()
            }
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError) as error:
        raise DamagedFile(f"{path} is not a whole .npz file ({error}); fetch it again") from error


def _check_sizes(path: Path, archive: zipfile.ZipFile) -> None:
    names = [info.filename for info in archive.infolist()]
    if len(set(names)) < len(names):
        raise DamagedFile(f"{path} has two arrays of one name among {sorted(names)}")
    total, size = sum(info.file_size for info in archive.infolist()), path.stat().st_size
    if total > MAX_EXPANSION * size:
        raise DamagedFile(f"{path} claims to unpack {size:,} bytes to {total:,}; it is not weights")


def _array(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Tensor:
    with archive.open(info) as member:
        shape, fortran, kind = _header(member)
        if kind.hasobject or kind.kind not in "fiu":
            raise BadWeights(f"{path}: {info.filename} holds {kind}, expected numbers")
        wanted = math.prod(shape) * kind.itemsize
        if wanted != info.file_size - member.tell():
            raise DamagedFile(
                f"{path}: {info.filename} is {list(shape)} {kind} and has "
                f"{info.file_size - member.tell():,} bytes, expected {wanted:,}"
            )
        data = bytearray(member.read(wanted))
    array = np.frombuffer(data, dtype=kind).reshape(shape, order="F" if fortran else "C")
    return torch.from_numpy(array.astype(kind.newbyteorder("="), copy=False))


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    version = np.lib.format.read_magic(member)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(member)
    return np.lib.format.read_array_header_2_0(member)
