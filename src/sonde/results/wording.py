"""The sentences about a result that the terminal, the page and the picture share.

Written once, so that no surface says more, or something else, than another. They are about numbers
that are in the result; what those mean for a model is the reader's to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from sonde.results.numbers import count, duration, number, rate
from sonde.results.scale import Scale
from sonde.results.tokens import quoted, visible
from sonde.schema import Hook, Metric

if TYPE_CHECKING:
    from sonde.results.sweep import ScoredSite, Sweep

HOOK_MEANING: Final[dict[Hook, str]] = {
    "pre_attn": "residual stream entering the layer",
    "post_attn": "residual stream after attention",
    "post_block": "residual stream leaving the layer",
    "mlp_in": "normalised MLP input",
    "mlp_out": "MLP output, before it is added back",
}

_METRIC: Final[dict[Metric, str]] = {
    "logprob": "log-probability",
    "logit_diff": "logit difference",
    "recovered": "share recovered",
}


def metric_label(sweep: Sweep) -> str:
    """What the colours stand for: log-probability of “·Paris”."""
    answer = _asked_token(sweep, "answer")
    if sweep.metric == "logit_diff":
        return f"{_METRIC['logit_diff']}, {answer} over {_asked_token(sweep, 'foil')}"
    return f"{_METRIC[sweep.metric]} of {answer}"


def baseline_label(sweep: Sweep) -> str:
    """What `clean` and `corrupt` measure: of `recovered`, the log-probabilities it is made of."""
    return _METRIC["logprob" if sweep.metric == "recovered" else sweep.metric]


def shape(sweep: Sweep) -> str:
    """3 hooks × 30 layers × 9 positions."""
    hooks, layers = count(len(sweep.hooks), "hook"), count(len(sweep.layers), "layer")
    return f"{hooks} × {layers} × {count(len(sweep.positions), 'position')}"


def site(found: ScoredSite) -> str:
    """post_block, layer 12, position 4 “·Colosseum”."""
    place = f"{found.hook}, layer {found.layer}, position {found.position}"
    return f"{place} {quoted(found.token)}"


def controls(sweep: Sweep) -> str:
    """Whether the cells that must change nothing changed nothing."""
    total = len(sweep.controls)
    if not total:
        return "none were run"
    failed = [control for control in sweep.controls if not control.passed]
    if failed:
        worst = max(failed, key=lambda control: control.difference)
        where = f"{worst.kind} at {worst.hook}, layer {worst.layer}, position {worst.position}"
        return (
            f"{len(failed)} of {total} FAILED: {where} differs by {number(worst.difference)} "
            f"where {number(worst.tolerance)} is allowed"
        )
    largest = max(control.difference for control in sweep.controls)
    if largest == 0:
        return f"{total} of {total} equal the baseline, bit for bit"
    allowed = min(control.tolerance for control in sweep.controls)
    return (
        f"{total} of {total} equal the baseline within {number(allowed)} "
        f"(largest difference {number(largest)})"
    )


def noise(sweep: Sweep) -> str:
    """How far to trust small differences."""
    floor = sweep.noise_floor
    if floor is None:
        return "not measured"
    if floor == 0:
        return "0: the baseline has the same bits among patched rows"
    cells = count(sum(grid.size for grid in sweep.grids.values()), "cell")
    return f"{number(floor)}; {within_noise(sweep):,} of {cells} within it"


def within_noise(sweep: Sweep) -> int:
    """How many cells cannot be told from the baseline."""
    scale = Scale.of(sweep)
    return sum(scale.is_noise(value) for grid in sweep.grids.values() for value in grid.flat)


def strongest(sweep: Sweep, k: int = 5) -> list[ScoredSite]:
    """The sites farthest from the baseline, either way; never one that cannot be told from it."""
    scale = Scale.of(sweep)
    return [
        found
        for found in sweep.top(k, by="abs")
        if found.value != scale.baseline and not scale.is_noise(found.value)
    ]


def timing(sweep: Sweep) -> str:
    """270 cells in 0.71 s, 380 cells/s; 120 of them could not differ from the baseline."""
    spent = sweep.timing
    text = (
        f"{count(spent.cells, 'cell')} in {duration(spent.total_seconds)}, "
        f"{rate(spent.cells_per_second, 'cells')}"
    )
    known = spent.cells - spent.computed_cells
    return f"{text}; {known:,} of them could not differ from the baseline" if known else text


def skipped(sweep: Sweep) -> list[str]:
    """One line a reason: what was left out, and why."""
    reasons = Counter(each.reason for each in sweep.summary.skipped)
    lines = []
    for reason, times in reasons.items():
        where = {each.position for each in sweep.summary.skipped if each.reason == reason}
        noun = "position" if len(where) == 1 else "positions"
        cells = f" ({count(times, 'cell')})" if times > len(where) else ""
        lines.append(f"{noun} {ranges(where)}{cells}: {visible(reason)}")
    return lines


def ranges(numbers: Iterable[int]) -> str:
    """0–4, 7, 9–12."""
    runs: list[list[int]] = []
    for n in sorted(set(numbers)):
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def one_line(sweep: Sweep) -> str:
    """For a prompt or a log."""
    found = sweep.argmax
    best = f"; largest {Scale.of(sweep).text(found.value)} at {site(found)}" if found else ""
    return f"{visible(sweep.provenance.model)} {sweep.metric}, {shape(sweep)}{best}"


def short_table(sweep: Sweep) -> str:
    """The strongest sites, and what they are to be compared with."""
    scale = Scale.of(sweep)
    lines = [
        f"{visible(sweep.provenance.model)}: {metric_label(sweep)}, {shape(sweep)}",
        f"clean {number(sweep.clean)}, corrupt {number(sweep.corrupt)}, noise floor {noise(sweep)}",
        *(f"{scale.text(found.value):>9}  {site(found)}" for found in sweep.top()),
    ]
    return "\n".join(lines)


def _asked_token(sweep: Sweep, role: str) -> str:
    text = sweep.provenance.asked(f"{role}_token")
    if text is not None:
        return quoted(text)
    token_id = sweep.provenance.request.get(f"{role}_token_id")
    return f"the {role}" if token_id is None else f"token {token_id}"
