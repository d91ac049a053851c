from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.runs.analytics.stored import InMemory, OnDisk, Stored, places

TYPES = {"numbers": np.dtype("<i4"), "wide": np.dtype([("a", "<i8"), ("b", "<f8")])}


def both(folder: Path) -> tuple[Stored, Stored]:
    wide = np.zeros(2000, TYPES["wide"])
    wide["a"], wide["b"] = np.arange(2000), np.arange(2000) / 2
    arrays = {"numbers": np.arange(2000, dtype=np.int32), "wide": wide}
    kept = OnDisk(folder, TYPES)
    kept.write(arrays)
    return InMemory(arrays), kept


@given(st.lists(st.integers(0, 2000), max_size=40))
def test_slices_are_the_same_from_memory_and_from_disk(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    edges = np.array(sorted(cuts)[: len(cuts) // 2 * 2], dtype=np.int64).reshape(-1, 2)
    starts, ends = edges[:, 0], edges[:, 1]
    here, there = both(tmp_path_factory.mktemp("stored"))
    for name in TYPES:
        expected = here.gather(name, starts, ends)
        assert np.array_equal(there.gather(name, starts, ends), expected)
        assert len(expected) == (ends - starts).sum()


def test_one_slice_is_read_and_no_more(tmp_path: Path) -> None:
    for stored in both(tmp_path):
        assert stored.read("numbers", 5, 8).tolist() == [5, 6, 7]
        assert stored.read("wide", 1999, 2000).tolist() == [(1999, 999.5)]


def test_a_file_that_was_cut_is_an_error_and_no_numbers(tmp_path: Path) -> None:
    _, kept = both(tmp_path)
    (tmp_path / "numbers.bin").write_bytes(b"\0" * 8)
    with pytest.raises(OSError, match="ends before"):
        kept.gather("numbers", np.array([0]), np.array([10]))


def test_places_of_slices() -> None:
    assert places(np.array([5, 9]), np.array([7, 10])).tolist() == [5, 6, 9]
    assert places(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []
