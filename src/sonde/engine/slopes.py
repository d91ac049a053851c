"""Rows to first order: how far each moves a metric, from one gradient instead of a run each.

A metric is a function of the few numbers that a readout tells. Its own slope in each of them is
found by a small step either way, so that all smooth metrics are followed and none has code of its
own here: differences of logits, probabilities, several answers of several tokens.

Any rows can be ranked:

    rows = [Row((write,)) for write in writes]     # of sites, heads, features: whatever is written
    strength = np.abs(slopes(setting, rows))       # one number a row, in the first metric's units
    best = np.argsort(-strength, kind="stable")[:top]

A rank is a guess: a saturated softmax, or a write far from what stands there, is not seen. Score
what matters exactly.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import Row, Slope, Work
from sonde.engine.answers import Grades
from sonde.engine.setting import Graded, Setting, grades
from sonde.errors import BadRequest
from sonde.schema.table import SweepRequest, TableMetric

STEP: Final = 1e-4
SMOOTH: Final[tuple[TableMetric, ...]] = ("logprob", "logit_diff", "recovered", "prob", "kl_clean")
"""Ranks change in steps, and the divergence from the unpatched prompt is least there: no slope."""


def slopes(
    setting: Setting, rows: Sequence[Row], graded: Graded | None = None
) -> NDArray[np.float64]:
    """How far each row moves the request's first metric, to first order: [rows].

    `graded` is what `grades` said of this setting; without it the prompts are asked again, which a
    backend answers from what it has just run. Where the gradient is taken the request says: at the
    prompt (`atp`), or on the way to the clean one (`eap-ig`).
    """
    return moves(setting, rows, setting.question.metrics[:1], graded)[:, 0]


def moves(
    setting: Setting,
    rows: Sequence[Row],
    metrics: Sequence[TableMetric],
    graded: Graded | None = None,
) -> NDArray[np.float64]:
    """The same of several metrics: [rows, metrics]."""
    check_smooth(metrics)
    found, zeros = graded or grades(setting)
    question, told = setting.question, setting.told()
    weights = [_weights(found, zeros, metric) for metric in metrics]
    toward, steps = _way(setting)
    asked = [
        Slope(
            Work(
                [*setting.corrupt, *variant],
                rows,
                question.readout(variant, len(setting.corrupt), told),
            ),
            tuple(weight[number] for weight in weights),
            None if toward is None else [*toward, *variant],
            steps,
        )
        for number, variant in enumerate(question.variants)
    ]
    total = np.zeros((len(rows), len(metrics)))
    for scores in setting.backend.linearise(asked):
        total[list(scores.rows)] += scores.values
    return total


def check_smooth(metrics: Sequence[TableMetric]) -> None:
    """Every metric has a slope."""
    for metric in metrics:
        if metric not in SMOOTH:
            raise BadRequest(
                f"metric {metric!r} has no slope at the unpatched prompt, so nothing can be "
                f"attributed to it; take {', '.join(SMOOTH)}, or method 'exact'"
            )


def check_way(request: SweepRequest, corrupt: Sequence[int], clean: Sequence[int] | None) -> None:
    """There is a way from one prompt to the other, where the gradient is taken along one."""
    if request.gradient == "atp":
        return
    if clean is None:
        raise BadRequest("gradient 'eap-ig' goes from one prompt to the other: name a clean prompt")
    if len(clean) != len(corrupt):
        raise BadRequest(
            f"gradient 'eap-ig' goes between prompts of one length, and these have {len(clean)} "
            f"and {len(corrupt)} tokens; take gradient 'atp'"
        )


def _way(setting: Setting) -> tuple[Sequence[int] | None, int]:
    request = setting.request
    check_way(request, setting.corrupt, setting.clean)
    if request.gradient == "atp":
        return None, 1
    return setting.clean, request.steps


def _weights(
    graded: Grades, zeros: Sequence[list[float]], metric: TableMetric
) -> list[tuple[float, ...]]:
    """The slope of a metric in every column of every variant's readout."""
    out = []
    for number, zero in enumerate(zeros):
        each = []
        for column in range(len(zero)):
            ends = []
            for step in (STEP, -STEP):
                moved = [list(values) for values in zeros]
                moved[number][column] += step
                end = graded.of(metric, graded.question.read(moved))
                if end is None:
                    why = graded.why_no_recovery() if metric == "recovered" else None
                    raise BadRequest(why or f"the unpatched prompt's {metric} is not a number")
                ends.append(end)
            each.append((ends[0] - ends[1]) / (2 * STEP))
        out.append(tuple(each))
    return out
