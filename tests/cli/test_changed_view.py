import pytest

from sonde.cli.changed_view import changed_page, verdict
from sonde.schema.analytics import Coefficient
from sonde.schema.changed import Changed, FeatureMove, PlaceGain, TokenGain


def move(feature: int, undone: float | None, p: float | None) -> FeatureMove:
    return FeatureMove(
        layer=15, feature=feature, places=3, moved=-1.5, with_gain=0.4, undone=undone,
        random=[] if undone is None else [-0.5, 0.25], p=p, p_family=p, reward=None,
        with_reward=Coefficient(r=0.3, low=0.1, high=0.5),
    )  # fmt: skip


def changed(*features: FeatureMove) -> Changed:
    return Changed(
        made=0.0, first=0, last=20, weights=["a", "b"], probes=2, left_out=1, tokens=9, gain=12.5,
        by_place=[9.0, 3.25],
        gained=[TokenGain(token=")", count=2, gain=8.0, mean=4.0)],
        lost=[TokenGain(token="\x1b[31m", count=1, gain=-1.0, mean=-1.0)],
        places=[
            PlaceGain(
                generation_id="19-3", token=")", index=4, context="made_of(spoon,\n wood",
                before=-5.0, after=-0.5,
            )
        ],
        features=list(features), reasons=["layer 0: nobody knows"],
    )  # fmt: skip


def test_the_verdict_comes_first_and_says_what_beats_chance() -> None:
    told = verdict(changed(move(7, 6.5, 0.05), move(8, 0.1, 0.6)))
    assert told.startswith(
        "From the model it began as to checkpoint-20, 9 tokens of 2 completions gained +12.5 nats"
    )
    assert "the most of them “)” (+8.0)" in told
    assert "Of 2 features that were put back, 1 undo more than random directions do" in told
    assert "15:7, undoes +6.50, corrected p 0.0500" in told


def test_it_says_so_where_nothing_beats_chance_or_nothing_was_tried() -> None:
    assert "None of the 1 features" in verdict(changed(move(7, 0.1, 0.6)))
    assert verdict(changed(move(7, None, None))).endswith("no feature was put back.")


@pytest.mark.parametrize("width", [40, 120])
def test_a_page_fits_and_obeys_no_file(width: int) -> None:
    lines = list(changed_page(changed(move(7, 6.5, 0.05)), width))
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "\x1b" not in text
    assert "1 text left out" in " ".join(text.split())
    assert "layer 0: nobody knows" in text
