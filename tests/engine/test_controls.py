"""Controls are computed like any other cell and judged without mercy."""

import math
from dataclasses import replace

import numpy as np
import pytest

from sonde.backends.base import FromRun, FromVector, write_at
from sonde.engine.controls import ControlRow, control_position, control_rows, judge
from sonde.errors import ControlFailed
from sonde.schema import CLASSIC_HOOKS, ModelDescription
from tests.scripted import Scripted

PATCH = write_at("mlp_in", 2, 3, FromRun("clean", (5,)), 0.5, np.ones(8, dtype=np.float32))
MODEL = Scripted().describe()
LOOSE = Scripted(exact=False).describe()
ALPHA = ControlRow("alpha_zero", PATCH)


def test_each_patch_gets_both_controls_and_neither_takes_a_shortcut() -> None:
    alpha, own = control_rows([PATCH], "mine")

    assert (alpha.kind, alpha.write.alpha, alpha.write.source) == ("alpha_zero", 0.0, PATCH.source)
    assert own.kind == "self_patch"
    assert own.write.source == FromRun("mine", (3,))
    assert (own.write.alpha, own.write.mask) == (1.0, None)  # a mask would hide most of it
    assert alpha.row.computed
    assert own.row.computed


def test_what_is_added_is_written_back_and_not_added_to_itself() -> None:
    alpha, own = control_rows([replace(PATCH, how="add")], "mine")

    assert (alpha.write.how, alpha.write.alpha) == ("add", 0.0)
    assert own.write.how == "set"


def test_without_the_runs_own_activations_there_is_no_self_patch() -> None:
    vector = write_at("mlp_in", 2, 3, FromVector(np.ones(8, dtype=np.float32)))

    assert [control.kind for control in control_rows([vector], None)] == ["alpha_zero"]


@pytest.mark.parametrize("hook", CLASSIC_HOOKS)
@pytest.mark.parametrize("layer", range(4))
def test_a_control_sits_where_the_answer_can_see_it(hook: str, layer: int) -> None:
    position = control_position(hook, layer, [1, 4, 2], MODEL, 9)  # type: ignore[arg-type]

    assert position == (8 if layer == 3 and hook != "pre_attn" else 4)


def test_a_control_equal_to_the_baseline_passes() -> None:
    control = judge(ALPHA, [-1.5, -2.5], [-1.5, -2.5], MODEL)

    assert (control.kind, control.hook, control.layer, control.position) == (
        "alpha_zero",
        "mlp_in",
        2,
        3,
    )
    assert (control.difference, control.tolerance, control.passed) == (0.0, 0.0, True)


@pytest.mark.parametrize("found", [[-1.5, -2.5 - 1e-12], [-1.4, -2.5]])
def test_where_bits_are_promised_any_difference_fails(found: list[float]) -> None:
    with pytest.raises(ControlFailed, match="alpha_zero at mlp_in, layer 2, position 3 differs"):
        judge(ALPHA, found, [-1.5, -2.5], MODEL)


@pytest.mark.parametrize("model", [MODEL, LOOSE], ids=["exact", "loose"])
@pytest.mark.parametrize("found", [[math.nan, -2.5], [-1.5, math.nan], [-1.5, -math.inf]])
def test_what_is_no_number_fails_wherever_it_stands(
    found: list[float], model: ModelDescription
) -> None:
    with pytest.raises(ControlFailed, match="no number of this sweep can be trusted"):
        judge(ALPHA, found, [-1.5, -2.5], model)


@pytest.mark.parametrize(("dtype", "allowed"), [("float32", 1e-3), ("bfloat16", 0.5)])
def test_elsewhere_rounding_is_allowed_and_reported(dtype: str, allowed: float) -> None:
    model = LOOSE.model_copy(update={"dtype": dtype})

    control = judge(ALPHA, [-1.0 + allowed / 2], [-1.0], model)

    assert control.tolerance == allowed
    assert control.difference == pytest.approx(allowed / 2)
    with pytest.raises(ControlFailed, match=f"allowed: {allowed:g}"):
        judge(ALPHA, [-1.0 + allowed * 2], [-1.0], model)
