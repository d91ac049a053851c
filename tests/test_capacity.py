"""The arithmetic of `docs/scale.md`: its formulas on numbers worked out by hand, and its tables."""

from pathlib import Path

from benchmarks import capacity
from benchmarks.capacity import SHAPES, Shape, capture_bytes, gpu_seconds, gpus, sweep_tokens

SMALL = Shape("small", 1e9, 2, 8)
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"


def test_the_tables_of_the_page_are_what_the_arithmetic_gives() -> None:
    assert capacity.tables() in PAGE.read_text()


def test_captures_take_sixteen_bytes_a_dimension_of_each_layer_and_token() -> None:
    assert capture_bytes(SMALL, 1) == 2 * 8 * (4 + 4 + 4 + 2 + 2)
    assert capture_bytes(SMALL, 10, shares=4) == 40 * capture_bytes(SMALL, 1)


def test_a_cell_computes_from_its_block_to_the_end() -> None:
    assert sweep_tokens(SMALL, 3, block=1) == 2 * (3 + 2 + 1)
    assert sweep_tokens(SMALL, 4, block=2) == 2 * (4 + 4 + 2 + 2)
    assert sweep_tokens(SMALL, 4, hooks=3, block=16) == 3 * 2 * 4 * 4


def test_work_is_two_operations_a_parameter_and_token() -> None:
    assert gpu_seconds(SMALL, 1000, peak=1e12, efficiency=0.5) == 4.0


def test_the_weights_fit_the_gpus_and_not_half_of_them() -> None:
    for shape in SHAPES:
        room = capacity.GPU_BYTES * capacity.WEIGHTS_SHARE
        assert gpus(shape) * room >= 2 * shape.parameters
        assert gpus(shape) == 1 or gpus(shape) // 2 * room < 2 * shape.parameters
