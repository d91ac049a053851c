import pytest

from sonde.cli.run_view import (
    coefficient,
    ending,
    reward_plot,
    run_page,
    run_table,
    when,
)
from sonde.schema.analytics import (
    AlarmSpan,
    Coefficient,
    Correlation,
    Coverage,
    Curves,
    FeatureName,
    GroupDifference,
    LayerCount,
    MissingFile,
    Overview,
    Scatter,
    ScatterPoints,
    Series,
    Vocabulary,
    VocabularyFeature,
)
from sonde.schema.runs import RunRow, Unended

COVERAGE = Coverage(complete=True, bytes_read=10, bytes_total=10, records=7, withheld=2)
R = Coefficient(r=-0.5, low=-0.8, high=0.1)


def curves(mean: list[float | None], alarms: list[AlarmSpan] | None = None) -> Curves:
    one = Series(
        name="rewards_mean", layer=None, count=[1] * len(mean), mean=mean, low=mean, high=mean
    )
    return Curves(
        coverage=COVERAGE,
        start=0,
        width=1,
        columns=len(mean),
        first_step=1,
        last_step=len(mean),
        series=[one] if mean else [],
        alarms=alarms or [],
        reason=None if mean else "nothing was written",
    )


def page(width: int) -> list[str]:
    overview = Overview(
        run="run\x1b[31m",
        coverage=COVERAGE,
        first_step=1,
        last_step=9,
        steps=9,
        unit="step",
        layers=[LayerCount(layer=15, records=7, features=1)],
        generations=5,
        passed=3,
        failed=2,
        unjoined=0,
        missing=[MissingFile(file="run.json", prevents="the model")],
        cache=None,
    )
    nothing = ScatterPoints(
        generation_id=[], group_id=[], step=[], R=[], gate=[], loss=[], loss_low=[], loss_high=[]
    )
    why = "R is the same for all of them"
    scatter = Scatter(
        coverage=COVERAGE,
        layer=15,
        generations=5,
        without_reward=0,
        without_records=0,
        rewards_zero=2,
        correlations=[
            Correlation(among="all", n=5, groups=None, pearson=R, spearman=R, reason=None),
            Correlation(among="failed", n=2, groups=None, pearson=None, spearman=None, reason=why),
        ],
        passed_minus_failed=GroupDifference(groups=0, mean=None, low=None, high=None, reason=why),
        points=nothing,
        points_total=5,
        reason=None,
    )
    word = VocabularyFeature(
        layer=15,
        feature=7,
        same=[FeatureName(layer=0, feature=9)],
        sustained=3,
        passed_with=3,
        failed_with=0,
        lift=None,
        p=0.01,
        q=0.02,
        activation=1.0,
    )
    vocabulary = Vocabulary(
        coverage=COVERAGE,
        layer=None,
        n=3,
        m=2,
        min_tokens=1,
        whole=False,
        first_step=1,
        last_step=9,
        passed=3,
        failed=2,
        groups=3,
        mixed_groups=1,
        family=4,
        least_q=0.0125,
        significant=1,
        rate=0.05,
        exact=True,
        total=1,
        features=[word],
        everywhere_total=1,
        everywhere=[word.model_copy(update={"feature": 8})],
        reason=None,
        reason_p=None,
    )
    alarm = AlarmSpan(alarm="gate never passed: x", first_step=2, last_step=4, standing=False)
    health = curves([0.5], [alarm])
    return list(
        run_page(overview, None, ROW, scatter, vocabulary, curves([0.1, None, 0.9]), health, width)
    )


def test_a_page_answers_in_words_and_fits_the_width() -> None:
    text = " ".join(" ".join(page(110)).split())
    for words in (
        "7 of layers 15, steps 1 to 9",
        "2 lines withheld",
        "3 passed the gate, 2 did not",
        "r −0.50 [−0.80, 0.10]",
        "R is the same for all of them",
        "from step 2, until step 4: gate never passed",
        "1 line in at least 2 of the last 3 passed generations; 1 with q ≤ 0.05",
        "1 of 3 groups have both passed and failed generations",
        "4 patterns of use tested, the smallest q within reach 0.0125",
        "only there",
        "and 1 with the same generations",
        "set apart, in nearly all generations: 1 line (15:8)",
        "no run.json: cannot show the model",
    ):
        assert words in text, words
    assert "\x1b" not in text, "what files say is not obeyed by the terminal"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_asked(width: int) -> None:
    assert max(map(len, page(width))) <= width


def test_without_rewards_it_says_why() -> None:
    (line,) = reward_plot(curves([]), 80)
    assert line == "no reward curve: nothing was written"
    assert "no step has a reward" in next(reward_plot(curves([None]), 80))


def test_an_r_without_an_interval_stands_alone() -> None:
    assert coefficient(Coefficient(r=1.0, low=None, high=None)) == "1.00"
    assert coefficient(None) == "—"


ROW = RunRow(
    run="a",
    directory="/a",
    run_id=None,
    model=None,
    status=None,
    started=None,
    layers=None,
    last_checkpoint=None,
    live=True,
    written=0.0,
    missing=[],
)


def test_runs_are_a_table_and_gaps_are_dashes() -> None:
    head, line = run_table([ROW], 100)
    assert head.startswith("run")
    assert line.split() == ["a", "—", "—", "1970-01-01", "00:00:00", "—", "—", "—"]
    assert when(None) == "—"


def test_a_run_whose_trainer_was_killed_is_said_to_have_stopped_and_how_to_go_on() -> None:
    command = "sonde train --output-dir /data/runs/a --resume --max-steps 20"
    found = Unended(step=7, since=1.0, why="its process is gone", resume=command, command=True)
    row = ROW.model_copy(update={"status": "running", "unended": found})
    lines = list(run_table([row], 60))
    assert "stopped without ending" in lines[1]
    said = " ".join(lines[2:])
    assert "a: stopped after step 7 without ending: its process is gone" in said
    assert command in " ".join(said.split())
    assert all(len(line) <= 60 for line in lines)
    assert list(ending(ROW)) == []
