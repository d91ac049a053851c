from dataclasses import replace

import numpy as np
import pytest

from sonde.errors import RequestTooLarge
from sonde.runs.analytics import vocabulary as module
from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.generations import Generations
from sonde.runs.analytics.presence import Presence
from sonde.runs.analytics.vocabulary import vocabulary
from tests.runs.analytics import plain
from tests.runs.analytics.conftest import Read


def changed(known: RunContents, **columns: object) -> RunContents:
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
    assert (found.passed, found.failed) == (len(passed), len(failed))
    assert found.first_step == last[0]["step"]
    assert not found.whole

    groups: dict[str, list[dict[str, object]]] = {}
    for one in window:
        groups.setdefault(str(one["group_id"]), []).append(one)
    patterns: dict[frozenset[str], list[tuple[int, int]]] = {}
    for name in family:
        patterns.setdefault(frozenset(one for one in has if name in has[one]), []).append(name)
    p, least = {}, {}
    for using in patterns:
        dealt = [
            (
                [bool(one["gate"]) for one in group],
                [str(one["generation_id"]) in using for one in group],
            )
            for group in groups.values()
        ]
        p[using] = plain.chance(dealt)
        best = [(sorted(gates), sorted(each)) for gates, each in dealt]
        least[using] = plain.chance(best)
    able = [using for using in patterns if least[using] <= 0.3]
    assert 0 < len(able) < len(patterns)
    q = dict(zip(able, plain.adjusted([p[using] for using in able]), strict=True))
    assert found.family == len(able)
    assert found.least_q == pytest.approx(min(plain.adjusted([least[using] for using in able])))
    assert (found.groups, found.mixed_groups) == (
        len(groups),
        sum(len({one["gate"] for one in group}) == 2 for group in groups.values()),
    )

    sustained = {
        using: count
        for using in patterns
        if (count := sum(one["generation_id"] in using for one in last)) >= m
    }
    every = [*found.features, *found.everywhere]
    assert len(every) == found.total + found.everywhere_total == len(sustained) > 1
    for each in every:
        named = {(each.layer, each.feature), *((one.layer, one.feature) for one in each.same)}
        (using,) = (using for using, names in patterns.items() if set(names) == named)
        with_it = [sum(one["generation_id"] in using for one in side) for side in (passed, failed)]
        assert (each.passed_with, each.failed_with) == tuple(with_it)
        assert (each in found.everywhere) == (len(using) > 0.95 * len(window))
        assert each.sustained == sustained[using]
        assert each.p == pytest.approx(p[using], rel=1e-9)
        assert each.q == (pytest.approx(q[using], rel=1e-9) if using in q else None)
        lift = (with_it[0] / len(passed)) / (with_it[1] / len(failed)) if with_it[1] else None
        assert each.lift == (None if lift is None else pytest.approx(lift))
        values = [
            value
            for one in passed
            if one["generation_id"] in using
            for record, feature, value in plain.activations(
                plain.of_generation(run.made.records, one), each.layer
            )
            if feature == each.feature
        ]
        assert each.activation == pytest.approx(float(np.mean(values)))
    assert found.significant == sum(using in q and q[using] <= 0.3 for using in sustained)


def test_without_a_window_it_is_the_whole_run(run: Read) -> None:
    found = vocabulary(run.known, run.cursor)
    gated = run.made.generations
    assert found.whole
    assert (found.passed, found.failed) == (
        sum(one["gate"] for one in gated),
        sum(not one["gate"] for one in gated),
    )
    assert found.m == int(np.ceil(0.1 * found.passed))
    windowed = vocabulary(run.known, run.cursor, n=8)
    assert windowed.mixed_groups < found.mixed_groups
    assert windowed.least_q is None or found.least_q < windowed.least_q  # type: ignore[operator]
    assert found.significant > 0


def made_of(names: dict[int, list[int]]) -> Presence:
    """Features and the generations that have each."""
    rows = sorted(names)
    start = np.cumsum([0, *(len(names[row]) for row in rows)])[:-1]
    generation = np.concatenate([np.array(names[row], np.int64) for row in rows])
    layer = np.zeros(len(rows), np.int64)
    return Presence(layer, np.array(rows), start, generation, np.ones(len(rows)))


def test_features_of_the_same_generations_are_one_pattern() -> None:
    has = made_of({3: [0, 2], 5: [1], 8: [0, 2], 9: [0, 1, 2, 3]})
    assert has.patterns() == [[0, 2], [1], [3]]
    assert has.among(np.array([True, False, False, True])).tolist() == [1, 0, 1, 2]
    assert has.by(np.array([0, 1, -1, 1]), 2).tolist() == [[1, 0], [0, 1], [1, 0], [1, 2]]


def test_of_a_run_too_long_to_look_through_the_newest_steps_are_taken(
    run: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUDGET", 100 * module.BYTES)
    found = vocabulary(replace(run.known), run.cursor)
    assert not found.whole
    assert found.first_step is not None
    assert found.first_step > 1
    records = [each for each in run.made.records if each["step"] >= found.first_step]
    assert sum(each["layer_index"] == 15 for each in records) <= 100


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
        vocabulary(replace(run.known), run.cursor, n=40)
