import numpy as np
import pytest

from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.scatter import scatter
from sonde.schema.analytics import Coefficient, Correlation, Scatter
from tests.runs.analytics import plain
from tests.runs.analytics.conftest import Read


def by_hand(run: Read, layer: int, steps: range) -> list[tuple[dict[str, object], float]]:
    """Generations with their mean loss, those without one left out."""
    pairs = [
        (generation, plain.mean_loss(run.made.records, generation, layer))
        for generation in run.made.generations
        if generation["step"] in steps
    ]
    return [(generation, loss) for generation, loss in pairs if loss is not None]


@pytest.mark.parametrize("layer", [0, 15])
@pytest.mark.parametrize("steps", [range(1, 13), range(4, 9)])
def test_points_and_coefficients_are_what_plain_python_gives(
    run: Read, layer: int, steps: range
) -> None:
    found = scatter(run.known, run.cursor, layer, first_step=steps[0], last_step=steps[-1])
    pairs = by_hand(run, layer, steps)
    assert found.points.generation_id == [one["generation_id"] for one, _ in pairs]
    assert found.points.group_id == [one["group_id"] for one, _ in pairs]
    assert [one["R"] for one, _ in pairs] == found.points.R
    assert found.points.gate == [one["gate"] for one, _ in pairs]
    assert found.points.loss == pytest.approx([loss for _, loss in pairs], rel=1e-12)
    assert found.points_total == len(pairs)
    assert found.rewards_zero == sum(one["R"] == 0 for one, _ in pairs)
    assert found.points.step == [one["step"] for one, _ in pairs]
    ends = [plain.losses(run.made.records, one, layer) for one, _ in pairs]
    assert found.points.loss_low == [min(each) for each in ends]
    assert found.points.loss_high == [max(each) for each in ends]
    chosen = [one for one in run.made.generations if one["step"] in steps]
    assert (found.generations, found.without_reward) == (len(chosen), 0)
    assert found.without_records == len(chosen) - len(pairs)
    among: dict[str, Correlation] = {each.among: each for each in found.correlations}
    for name, gates in (("all", (True, False)), ("passed", (True,))):
        mine = [(loss, float(str(one["R"]))) for one, loss in pairs if one["gate"] in gates]
        x, y = ([pair[side] for pair in mine] for side in (0, 1))
        assert_same(among[name], x, y, free=len(mine) - 3)
    names = [one["group_id"] for one, _ in pairs]
    x, groups = plain.within(names, [loss for _, loss in pairs])
    y, _ = plain.within(names, [float(str(one["R"])) for one, _ in pairs])
    assert among["within groups"].groups == groups > 1
    assert_same(among["within groups"], x, y, free=len(x) - 3 - (groups - 1))


def assert_same(each: Correlation, x: list[float], y: list[float], *, free: int) -> None:
    """Both coefficients and their intervals are those of plain formulas."""
    assert each.n == len(x)
    r = float(np.corrcoef(x, y)[0, 1])
    assert_numbers(each.pearson, r, plain.interval(r, free, ranked=False))
    r = float(np.corrcoef(rounded_ranks(x), rounded_ranks(y))[0, 1])
    assert_numbers(each.spearman, r, plain.interval(r, free, ranked=True))


def assert_numbers(found: Coefficient | None, r: float, ends: tuple[float, float]) -> None:
    assert found is not None
    assert (found.r, found.low, found.high) == pytest.approx((r, *ends), abs=1e-9)


def rounded_ranks(values: list[float]) -> list[float]:
    """Ranks in which what differs by rounding only is equal, as it is for the numbers written."""
    return plain.ranks([round(value, 11) for value in values])


def test_failed_generations_have_no_r_because_their_reward_is_always_0(run: Read) -> None:
    failed = scatter(run.known, run.cursor, 15).correlations[2]
    assert failed.among == "failed"
    assert failed.n > 4
    assert failed.pearson is None
    assert failed.reason == "R is the same for all of them"


def test_passed_generations_of_this_run_have_lower_losses_than_failed_ones_of_their_group(
    run: Read,
) -> None:
    difference = scatter(run.known, run.cursor, 15).passed_minus_failed
    groups: dict[object, tuple[list[float], list[float]]] = {}
    for one, loss in by_hand(run, 15, range(1, 13)):
        groups.setdefault(one["group_id"], ([], []))[not one["gate"]].append(loss)
    each = [np.mean(a) - np.mean(b) for a, b in groups.values() if a and b]
    assert difference.groups == len(each)
    assert difference.mean == pytest.approx(float(np.mean(each)))
    assert difference.high is not None
    assert difference.high < 0


def test_only_the_newest_points_are_sent_and_all_of_them_counted(run: Read) -> None:
    whole, some = (scatter(run.known, run.cursor, points=n) for n in (2000, 5))
    assert whole.layer == 0, "the first, where nobody says"
    assert some.points.generation_id == whole.points.generation_id[-5:]
    assert some.points_total == whole.points_total
    assert some.correlations == whole.correlations


def test_without_generations_it_says_what_is_missing(reference: Read, run: Read) -> None:
    found = scatter(reference.known, reference.cursor)
    assert isinstance(found, Scatter)
    assert found.points.R == []
    assert found.reason is not None
    assert "generations.jsonl" in found.reason
    assert scatter(RunContents(), run.cursor).reason
    assert (
        scatter(run.known, run.cursor, 99).reason == "no generation has both a reward and records"
    )
