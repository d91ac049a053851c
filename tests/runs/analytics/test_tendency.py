import numpy as np
import pytest

from sonde.runs.analytics.tendency import with_reward
from tests.runs.analytics import plain
from tests.runs.analytics.conftest import Read


def test_it_is_the_correlation_of_differences_within_groups(run: Read) -> None:
    """By hand: summed activation over recorded tokens, both less the means of the group."""
    found = with_reward(run.known, run.cursor, [(15, 7), (0, 3)])
    for (layer, feature), coefficient in found.items():
        activity, reward, group = [], [], []
        for one in run.made.generations:
            records = [
                record
                for record in plain.of_generation(run.made.records, one)
                if record["layer_index"] == layer
            ]
            values = [v for _, f, v in plain.activations(records, layer) if f == feature]
            activity.append(sum(values) / len(records))
            reward.append(one["R"])
            group.append(one["group_id"])
        x, _ = plain.within(group, activity)
        y, _ = plain.within(group, reward)
        assert coefficient is not None
        assert coefficient.r == pytest.approx(float(np.corrcoef(x, y)[0, 1]))
    assert found[15, 7].r > abs(found[0, 3].r)  # type: ignore[union-attr]


def test_where_nothing_varies_there_is_none(run: Read, reference: Read) -> None:
    assert with_reward(run.known, run.cursor, [(15, 10**6)]) == {(15, 10**6): None}
    assert with_reward(reference.known, reference.cursor, [(0, 1)]) == {(0, 1): None}
    assert with_reward(run.known, run.cursor, []) == {}
