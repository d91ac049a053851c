"""The arithmetic of `docs/scale.md`: its formulas on numbers worked out by hand, and its tables."""

from pathlib import Path

import pytest
from benchmarks import capacity
from benchmarks.capacity import SHAPES, capture_bytes, gpu_seconds, sweep_tokens

import sonde
from sonde import scale
from sonde.errors import BadRequest
from sonde.scale import Cost, Device, Fleet, Rows, Shape, cost, devices_for, fleet, rows_of
from sonde.schema import Estimate
from tests.tiny_model import save_tiny_model

SMALL = Shape("small", 1e9, 2, 8, 4, 1e9)
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
        room = 80e9 * scale.WEIGHTS_SHARE
        count = devices_for(shape, 80e9)
        assert count * room >= 2 * shape.parameters
        assert count == 1 or count // 2 * room < 2 * shape.parameters


def test_the_study_of_heads_on_the_page_is_what_the_arithmetic_gives() -> None:
    assert capacity.head_study() in PAGE.read_text()


def test_a_model_that_fits_computes_from_its_row_s_layer_up() -> None:
    one = Fleet(1, Device("toy", 1e12, 10e9))
    found = cost(SMALL, Rows(100, 3), one)  # of two layers three quarters, on average
    assert found == Cost(1, 1, 2 * 1e9 * 100 * 3 * 0.75 / (1e12 * scale.PACKED_SHARE))
    eight = cost(SMALL, Rows(100, 3), Fleet(8, one.device))
    assert (eight.copies, eight.way) == (8, "8 × packed")
    assert found.seconds is not None
    assert eight.seconds == found.seconds / 8


def test_a_model_that_is_split_computes_every_layer_of_whole_blocks() -> None:
    four = Fleet(4, Device("toy", 1e12, 2e9))
    found = cost(SMALL, Rows(100, 17), four)
    assert found == Cost(2, 2, 2 * 1e9 * 100 * 32 / (4e12 * scale.PREFILL_SHARE))
    assert found.way == "2 × vLLM, tensor parallel 2"
    assert cost(SMALL, Rows(1, 1), Fleet(1, four.device)).way == "does not fit: a copy takes 2"


def test_a_sweep_scales_to_the_layers_and_heads_of_another_shape(tmp_path: Path) -> None:
    model = sonde.load(str(save_tiny_model(tmp_path))).describe()
    assert model.heads is not None
    rows, tokens = model.n_layers * model.heads.heads, 5
    here = Estimate(
        cells=rows,
        computed_cells=rows,
        token_layers=round(rows * tokens * (model.n_layers + 1) / 2),
        working_bytes=0,
        source_bytes=0,
        seconds=1.0,
        chunks=1,
    )
    assert rows_of(SMALL, here, model, ["z"], each_head=True) == Rows(2 * 4, tokens)


def test_devices_are_a_number_and_a_name() -> None:
    assert str(fleet("8xH100")) == "8 × H100"
    assert fleet("a100").count == 1
    for text in ("8xT1000", "0xH100", "x8", "H100x8"):
        with pytest.raises(BadRequest, match=r"8xH100; known are A100"):
            fleet(text)
