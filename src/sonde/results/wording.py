"""The sentences about a result that the terminal, the page and the picture share.

Written once, so that no surface says more, or something else, than another. They are about numbers
that are in the result; what those mean for a model is the reader's to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from sonde.results.numbers import count, duration, number, rate
from sonde.results.scale import Scale
from sonde.results.tokens import quoted, visible
from sonde.results.views import EDGES, alike
from sonde.schema import HOOK_TABLE, Hook, SpecialToken, SpecialTokens
from sonde.schema.table import TableMetric

if TYPE_CHECKING:
    from sonde.results.sweep import Sweep
    from sonde.results.views import FoundCell, TableView

HOOK_MEANING: Final[dict[Hook, str]] = {name: spec.meaning for name, spec in HOOK_TABLE.items()}

_METRIC: Final[dict[TableMetric, str]] = {
    "logprob": "log-probability",
    "logit_diff": "logit difference",
    "recovered": "share recovered",
    "prob": "probability",
    "kl_clean": "KL divergence",
    "kl_corrupt": "KL divergence",
    "rank": "rank",
    "top1": "likeliest token",
    "reward": "reward",
}
_LOOKED_AT: Final = 1_000
"""Cells among which the strongest of every column are looked for."""
_MOST_NAMED: Final = 3
"""Answers beyond so many are counted, not named."""


def meaning(view: TableView) -> str:
    """What a picture is of."""
    if view.name == EDGES:
        return "what a receiver reads of a sender"
    return HOOK_MEANING[view.hook]


def metric_label(sweep: Sweep) -> str:
    """What the colours stand for: log-probability of “·Paris”."""
    metric, name = sweep.metric, _METRIC[sweep.metric]
    if metric == "reward":
        return name
    if metric in ("kl_clean", "kl_corrupt"):
        return f"{name} from the {metric.removeprefix('kl_')} prompt"
    answer = _asked(sweep, "answer")
    if metric == "logit_diff":
        return f"{name}, {answer} over {_asked(sweep, 'foil')}"
    if metric == "recovered" and sweep.recovered_of == "logit_diff":
        return f"{name} of {answer} over {_asked(sweep, 'foil')}"
    if metric == "top1":
        return f"whether {answer} is the likeliest token"
    return f"{name} of {answer}"


def baseline_label(sweep: Sweep) -> str:
    """What `clean` and `corrupt` measure: of `recovered`, what it is a share of."""
    return _METRIC[sweep.recovered_of if sweep.metric == "recovered" else sweep.metric]


def shape(sweep: Sweep) -> str:
    """3 hooks × 30 layers × 9 positions."""
    parts = [_shape([sweep.views[n] for n in group]) for group in alike(sweep.views)]
    named = {axis.name for view in sweep.views for axis in view.axes}
    together = not named & {"position", "feature"}
    return "; ".join(parts) + (", positions together" if together else "")


def _shape(views: Sequence[TableView]) -> str:
    axes = [count(len(axis.values), axis.name) for axis in views[0].axes]
    if views[0].name == EDGES:
        return " × ".join(axes)
    return " × ".join([count(len(views), "hook"), *axes])


def prompt_tokens(found: SpecialTokens) -> str:
    """“<bos>” (2) before its text, nothing after it."""
    if not found.before and not found.after:
        return "no special tokens, only those of its text"
    return f"{_listed(found.before)} before its text, {_listed(found.after)} after it"


def _listed(tokens: list[SpecialToken]) -> str:
    return ", ".join(f"{quoted(token.text)} ({token.id})" for token in tokens) or "nothing"


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
    cells = count(sum(view.values.size for view in sweep.views), "cell")
    return f"{number(floor)}; {within_noise(sweep):,} of {cells} within it"


def within_noise(sweep: Sweep) -> int:
    """How many cells cannot be told from the baseline."""
    scale = Scale.of(sweep)
    return sum(scale.is_noise(value) for view in sweep.views for value in view.values.flat)


def hatched(sweep: Sweep) -> int:
    """How many cells are hatched."""
    return sum(int(doubts.sum()) for doubts in sweep.doubts)


def shared_heads(view: TableView) -> str | None:
    """What `q3–5` on a head axis stands for; None where no head is shared."""
    axes = [axis for axis in view.axes if axis.name == "head"]
    if HOOK_TABLE[view.hook].per != "kv_head" or not axes:
        return None
    label = next((text for text in axes[0].labels if text.startswith("q")), None)
    if label is None:
        return None
    label = label.partition("+")[0]
    one = HOOK_TABLE[view.hook].wide
    return f"{view.hook}: {label} is the {one} that query heads {label[1:]} share"


def has_gaps(sweep: Sweep) -> bool:
    """Whether some cell has no number."""
    return any(np.isnan(view.values).any() for view in sweep.views)


def strongest(sweep: Sweep, k: int = 5) -> list[FoundCell]:
    """The cells farthest from the baseline, either way; never one that cannot be told from it.

    Of positions and roles the farthest of each alone: neighbours up a column are one finding, and
    would leave no room for the others.
    """
    scale = Scale.of(sweep)
    told: dict[object, FoundCell] = {}
    for found in sweep.found(_LOOKED_AT, by="abs"):
        if found.value == scale.baseline or sweep.doubts[found.panel][found.row, found.column]:
            continue
        last = found.place[-1] if found.place else None
        stands = last is not None and last.axis in ("position", "role")
        told.setdefault((found.panel, last) if stands else len(told), found)
    return list(told.values())[:k]


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
    reasons = Counter(each.reason for each in sweep.skipped)
    lines = []
    for reason, times in reasons.items():
        missing = [each for each in sweep.skipped if each.reason == reason]
        name, where = "position", {each.position for each in missing if each.position >= 0}
        if not where:  # positions are no axis there
            name, where = "layer", {each.layer for each in missing if each.layer is not None}
        noun = name if len(where) == 1 else f"{name}s"
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
    found = sweep.largest
    best = f"; largest {Scale.of(sweep).text(found.value)} at {found}" if found else ""
    return f"{visible(sweep.provenance.model)} {sweep.metric}, {shape(sweep)}{best}"


def short_table(sweep: Sweep) -> str:
    """The strongest sites, and what they are to be compared with."""
    scale = Scale.of(sweep)
    lines = [
        f"{visible(sweep.provenance.model)}: {metric_label(sweep)}, {shape(sweep)}",
        f"clean {number(sweep.clean)}, corrupt {number(sweep.corrupt)}, noise floor {noise(sweep)}",
        *(f"{scale.text(found.value):>9}  {found}" for found in sweep.found()),
    ]
    return "\n".join(lines)


def _asked(sweep: Sweep, role: str) -> str:
    """The answer, or the foil, as it was asked for: by its text, by its id, or several."""
    request = sweep.provenance.request
    names = (role, f"{role}_token", f"{role}_token_id")
    given = next((request[name] for name in names if request.get(name) is not None), None)
    several = given if isinstance(given, list) else [given]
    named = [_one_asked(each, role) for each in several[:_MOST_NAMED]]
    more = len(several) - len(named)
    return " or ".join(named) + (f" or {more} more" if more else "")


def _one_asked(given: object, role: str) -> str:
    if given is None:
        return f"the {role}"
    return quoted(given) if isinstance(given, str) else f"token {given}"
