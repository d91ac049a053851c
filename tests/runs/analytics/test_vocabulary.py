from dataclasses import replace

import numpy as np
import pytest

from sonde.errors import RequestTooLarge
from sonde.runs.analytics import vocabulary as module
from sonde.runs.analytics.analysis import Known
from sonde.runs.analytics.generations import Generations
from sonde.runs.analytics.vocabulary import vocabulary
from tests.runs.analytics import plain
from tests.runs.analytics.conftest import Read


def changed(known: Known, **columns: object) -> Known:
    """The same run with other generations."""
    rows = known.generations.rows.copy()
    for name, value in columns.items():
        rows[name] = value
    return replace(known, generations=replace(known.generations, rows=rows))


def test_it_is_what_plain_python_gives_in_every_number(run: Read) -> None:
    """The last 8 passed generations: few enough to deal all gates one by one."""
    n, m = 8, 4
    found = vocabulary(run.known, run.cursor, n=n, m=m, rate=0.3, limit=10**6)
    generations = run.made.generations
    last = [one for one in generations if one["gate"]][-n:]
    window = [one for one in generations if one["step"] >= last[0]["step"]]
    has = {one["generation_id"]: plain.present(run.made.records, one) for one in window}
    names = sorted(set().union(*has.values()))
    family = [name for name in names if sum(name in each for each in has.values()) >= m]
    passed = [one for one in window if one["gate"]]
    failed = [one for one in window if not one["gate"]]
    assert (found.passed, found.failed, found.family) == (len(passed), len(failed), len(family))
    assert found.first_step == last[0]["step"]

    groups: dict[str, list[dict[str, object]]] = {}
    for one in window:
        groups.setdefault(one["group_id"], []).append(one)
    p = {}
    for name in family:
        dealt = [
            (
                [bool(one["gate"]) for one in group],
                [name in has[str(one["generation_id"])] for one in group],
            )
            for group in groups.values()
        ]
        p[name] = plain.chance(dealt)
    q = dict(zip(family, plain.adjusted([p[name] for name in family]), strict=True))

    sustained = {
        name: count
        for name in family
        if (count := sum(name in has[one["generation_id"]] for one in last)) >= m
    }
    assert {(each.layer, each.feature) for each in found.features} == set(sustained)
    assert found.total == len(sustained) > 1
    for each in found.features:
        name = (each.layer, each.feature)
        with_it = [
            sum(name in has[one["generation_id"]] for one in side) for side in (passed, failed)
        ]
        assert (each.passed_with, each.failed_with) == tuple(with_it)
        assert each.sustained == sustained[name]
        assert each.p == pytest.approx(p[name], rel=1e-9)
        assert each.q == pytest.approx(q[name], rel=1e-9)
        lift = (with_it[0] / len(passed)) / (with_it[1] / len(failed)) if with_it[1] else None
        assert each.lift == (None if lift is None else pytest.approx(lift))
        values = [
            value
            for one in passed
            for record, feature, value in plain.activations(
                plain.of_generation(run.made.records, one), each.layer
            )
            if feature == each.feature
        ]
        assert each.activation == pytest.approx(float(np.mean(values)))
    assert found.significant == sum(q[name] <= 0.3 for name in sustained)


def test_the_feature_that_passed_generations_were_given_comes_first(run: Read) -> None:
    found = vocabulary(run.known, run.cursor, n=40)
    best = found.features[0]
    assert (best.layer, best.feature) == (15, 7)
    assert best.q is not None
    assert best.q < 0.05
    assert found.reason_p is None
    only = vocabulary(run.known, run.cursor, 0, n=40)
    assert {each.layer for each in only.features} <= {0}


def test_where_gates_are_dealt_at_random_nothing_is_found(run: Read) -> None:
    """Gates shuffled within groups, 20 times: at a rate of 5 %, about one family finds anything."""
    rng = np.random.default_rng(3)
    group = run.known.generations.rows["group"]
    hits = 0
    for _ in range(20):
        gate = run.known.generations.rows["gate"].copy()
        for name in np.unique(group):
            gate[group == name] = rng.permutation(gate[group == name])
        hits += vocabulary(changed(run.known, gate=gate), run.cursor, n=40, m=10).significant > 0
    assert hits <= 5


def test_a_feature_has_to_be_in_as_many_tokens_as_asked(run: Read) -> None:
    one = vocabulary(run.known, run.cursor, n=30, m=5)
    two = vocabulary(run.known, run.cursor, n=30, m=5, min_tokens=2)
    assert 0 < two.total < one.total
    name = (two.features[0].layer, two.features[0].feature)
    last = [each for each in run.made.generations if each["gate"]][-30:]
    often = sum(
        sum(
            name[1] in record["top_feature_indices"] and record["layer_index"] == name[0]
            for record in plain.of_generation(run.made.records, each)
        )
        >= 2
        for each in last
    )
    assert two.features[0].sustained == often


def test_generations_that_were_left_out_of_the_records_are_not_held_against_a_feature(
    run: Read,
) -> None:
    rows = run.known.generations.rows
    passed = np.flatnonzero(rows["gate"] == 1)
    moved = rows["token_start"].copy(), rows["token_end"].copy()
    for column in moved:
        column[passed[-1]] += 10**6  # nowhere near any record
    known = changed(run.known, token_start=moved[0], token_end=moved[1])
    found = vocabulary(known, run.cursor, n=10, m=1)
    assert found.n == 10
    whole = vocabulary(run.known, run.cursor, n=10, m=1)
    assert found.passed == whole.passed - 1 or found.first_step != whole.first_step


def test_what_cannot_be_told_has_a_reason(run: Read, reference: Read) -> None:
    known, cursor = run.known, run.cursor
    cases = [
        (vocabulary(reference.known, cursor), "generations.jsonl"),
        (vocabulary(changed(known, gate=-1), cursor), "no gate"),
        (vocabulary(changed(known, gate=0), cursor), "no generation has passed"),
        (vocabulary(known, cursor, n=5, m=6), "only 5 generations"),
        (vocabulary(known, cursor, 0, n=40, m=40), "no feature is in 40"),
        (
            vocabulary(replace(known, generations=Generations(there=True)), cursor),
            "no generations yet",
        ),
    ]
    for found, why in cases:
        assert found.features == []
        assert found.reason is not None
        assert why in found.reason


def test_without_a_group_that_has_both_there_is_no_p(run: Read) -> None:
    found = vocabulary(changed(run.known, gate=1), run.cursor, n=20, m=5)
    assert found.features
    assert found.mixed_groups == 0
    assert all(each.p is None and each.q is None and each.lift is None for each in found.features)
    assert found.reason_p is not None


def test_looking_back_too_far_is_refused_before_it_is_tried(
    run: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUDGET", 1000)
    with pytest.raises(RequestTooLarge, match="smaller n"):
        vocabulary(run.known, run.cursor)
