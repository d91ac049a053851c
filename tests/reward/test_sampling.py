"""A test of the reward on a tiny model: pairs of completions, sham features, what is refused."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from sonde.backends.base import (
    Column,
    FromVector,
    GenerateRequest,
    Readout,
    Row,
    Site,
    Work,
    Write,
)
from sonde.backends.edit import Edit, Sampled
from sonde.backends.torch.backend import TorchBackend
from sonde.errors import BadRequest, ControlFailed
from sonde.reward import likely, request
from sonde.reward.arms import BARE
from sonde.reward.exam import Exam
from sonde.reward.sampling import APART, sweep_reward
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.passing import feature_edit
from sonde.schema.reward import RewardFound, RewardTest, TableReward, TableSampling
from sonde.schema.table import (
    FeatureAxis,
    SweepRequest,
    TableCell,
    TableEvent,
    TableStart,
    TableSummary,
)
from tests.backends.torch.tiny import backend_of
from tests.sae.reading import WIDTH, mirror
from tests.tiny_model import SENTENCES, tiny_llama

LAYER, PROMPTS, LENGTH = 1, 12, 8
BACKEND = backend_of(tiny_llama())


def vowels(prompt: str, completion: str, **_: object) -> float:
    """The share of vowels among its letters."""
    return sum(letter in "aeiou" for letter in completion) / max(len(completion), 1)


def exam(n: int = PROMPTS) -> Exam:
    texts = [f"{sentence[: 8 + 3 * i]}" for i in range(4) for sentence in SENTENCES]
    return Exam([{"prompt": text} for text in texts[:n]], vowels, LENGTH)


def asked(axis: dict[str, Any] | None = None, **fields: Any) -> SweepRequest:
    given: dict[str, Any] = {"layer": LAYER, "numbers": [3, 20], "draws": 2} | (axis or {})
    test = RewardTest(run="tiny", prompts=PROMPTS)
    return SweepRequest(**{"features": FeatureAxis(**given), "reward": test, **fields})


def events(
    request: SweepRequest, dictionary: Autoencoder | None = None, backend: TorchBackend = BACKEND
) -> list[TableEvent]:
    return list(sweep_reward(backend, request, exam(), dictionary or mirror(LAYER)))


def summary(request: SweepRequest, dictionary: Autoencoder | None = None) -> TableSummary:
    *_, last = events(request, dictionary)
    assert isinstance(last, TableSummary)
    return last


def found(request: SweepRequest, dictionary: Autoencoder | None = None) -> RewardFound:
    told = summary(request, dictionary).reward
    assert told is not None
    return told


def silent(*features: int) -> Autoencoder:
    """The dictionary with features that are active, and add nothing."""
    made = mirror(LAYER)
    rows = made.W_dec.clone()
    rows[list(features)] = 0.0
    return replace(made, W_dec=rows)


def test_completions_are_those_of_the_edit_with_the_seed_of_their_prompt() -> None:
    told = summary(asked(seed=5))
    cells, random, baseline = told.tables
    ends = frozenset(BACKEND.describe().end_ids)
    requests = [
        GenerateRequest(
            tuple(BACKEND.tokenize(row["prompt"])),
            max_tokens=LENGTH,
            temperature=1.0,
            seed=5 * APART + number,
            stop_ids=ends,
        )
        for number, row in enumerate(exam().rows)
    ]

    def texts(edit: Edit | None) -> list[str]:
        made = {e.number: e.tokens for some in BACKEND.sample(requests, edit) for e in some}
        return [BACKEND.detokenize(made[number]) for number in range(PROMPTS)]

    assert baseline.said == texts(None)
    assert cells.said is not None
    assert cells.said[1::2] == texts(feature_edit(mirror(LAYER), LAYER, 20))
    assert cells.values["reward"] == [vowels("", said or "") for said in cells.said]
    assert [axis.name for axis in random.axes] == ["prompt", "feature", "draw"]
    assert len(random.values["reward"]) == PROMPTS * 2 * 2
    assert told.corrupt["reward"] == pytest.approx(
        np.mean(np.array(baseline.values["reward"], dtype=np.float64))
    )


def test_effects_are_differences_of_prompts_and_the_largest_comes_first() -> None:
    told = summary(asked())
    cells, random, baseline = told.tables
    without = np.array(baseline.values["reward"])
    each = np.array(cells.values["reward"]).reshape(PROMPTS, 2) - without[:, None]
    beside = np.array(random.values["reward"]).reshape(PROMPTS, 2, 2) - without[:, None, None]
    assert told.reward is not None
    effects = told.reward.effects
    assert [abs(one.effect) for one in effects] == sorted(
        (abs(one.effect) for one in effects), reverse=True
    )
    for one in effects:
        place = [3, 20].index(one.feature)
        assert one.effect == pytest.approx(each[:, place].mean())
        assert one.random == pytest.approx(beside[:, place].mean(axis=0).tolist())
        assert one.beyond == pytest.approx(one.effect - np.mean(one.random))
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.effect <= one.high
        assert one.changed > 0
        assert one.p is not None
        assert one.p_alone is not None
        assert one.p_alone <= one.p


def test_a_feature_that_adds_nothing_has_an_effect_of_exactly_nothing() -> None:
    """Its completions are the baseline's, and so are those of directions as long as nothing."""
    told = found(asked({"numbers": [7, 3]}), silent(7))
    [sham] = [each for each in told.effects if each.feature == 7]
    assert (sham.effect, sham.low, sham.high, sham.changed) == (0.0, 0.0, 0.0, 0)
    assert sham.random == [0.0, 0.0]
    assert sham.p == 1.0
    alone = found(asked({"numbers": [7]}), silent(7))
    assert "not seen to move the reward" in alone.verdict


def test_clamping_to_what_is_not_there_changes_as_removing_does() -> None:
    removed, clamped = summary(asked()), summary(asked({"how": "clamp", "value": 0.0}))
    assert removed.tables[0].said == clamped.tables[0].said
    raised = summary(asked({"how": "clamp", "value": 9.0}))
    assert raised.tables[0].said != removed.tables[0].said
    assert raised.notes["how"] == "clamp to 9"


def test_events_say_how_far_it_is_and_every_cell_once() -> None:
    made = events(asked())
    starts = [each for each in made if isinstance(each, TableStart)]
    assert made[0] is starts[0]
    assert starts[0].cells == PROMPTS * (1 + 2 * (1 + 2))
    cells = [(each.table, tuple(each.at)) for each in made if isinstance(each, TableCell)]
    assert len(set(cells)) == len(cells) == starts[0].cells
    told = [each.found for each in made if isinstance(each, TableReward)]
    assert [len(each.effects) for each in told] == [1, 2, 2, 2]
    assert [len(each.effects[0].random) for each in told] == [0, 0, 1, 2]
    sampling = [each for each in made if isinstance(each, TableSampling)]
    assert sampling[0].label == BARE.label
    assert {each.label for each in sampling} >= {"1:3 removed", "random direction 2 beside 1:20"}
    last = made[-1]
    assert isinstance(last, TableSummary)
    assert last.reward is not None
    assert [e.effect for e in last.reward.effects] == [e.effect for e in told[-1].effects]
    assert [control.passed for control in last.controls] == [True]


def test_features_that_nobody_names_are_those_that_rewarded_completions_hang_on() -> None:
    """A thousandth of each is removed, and the completion scored again: that is first order."""
    draw = np.random.default_rng(2)
    texts = [
        (tuple(draw.integers(3, 300, 5).tolist()), tuple(draw.integers(3, 300, 4).tolist()))
        for _ in range(3)
    ]
    rewards = np.array([1.0, 0.0, 0.5])
    found, why = likely.chosen_features(
        BACKEND, mirror(LAYER), FeatureAxis(layer=LAYER), texts, rewards, request.TOP
    )
    lost = np.zeros(2 * WIDTH)
    for (prompt, said), reward in zip(texts, rewards, strict=True):
        tokens, places = (*prompt, *said), range(4, 8)
        x = BACKEND.reader.activations(torch.tensor([tokens]), "post_block", [LAYER])[LAYER][0]
        dense = mirror(LAYER).encode(x).dense(2 * WIDTH).numpy()
        dense[0] = 0.0
        rows = [
            Row(
                tuple(
                    Write(
                        Site("post_block", LAYER, (at,)),
                        FromVector(-1e-3 * dense[at, feature] * direction(feature)),
                        how="add",
                    )
                    for at in range(9)
                )
            )
            for feature in range(2 * WIDTH)
        ]
        readout = Readout(tuple(Column("logprob", tokens[at + 1], position=at) for at in places))
        [[*zero]] = BACKEND.baselines([(tokens, readout)], ["post_block"])
        for part in BACKEND.score([Work(tokens, rows, readout)]):
            moved = (part.values.sum(axis=1) - sum(zero)) / 1e-3
            lost[list(part.rows)] += reward * (1 - np.exp(np.minimum(moved, 0.0)))
    assert found == np.argsort(-lost, kind="stable")[:3].tolist()
    assert why.startswith("3 of ")
    assert "2 rewarded completions; every reward here was sampled" in why


def direction(feature: int) -> np.ndarray:
    """A decoder row of the mirror."""
    row: np.ndarray = mirror(LAYER).W_dec[feature].numpy()
    return row


def test_a_test_that_names_no_features_says_how_they_were_chosen_and_starts_then() -> None:
    made = events(asked({"numbers": None, "top": 2, "draws": 0}))
    first = next(n for n, each in enumerate(made) if isinstance(each, TableStart))
    assert {type(each) for each in made[:first]} == {TableSampling}
    last = made[-1]
    assert isinstance(last, TableSummary)
    assert last.notes["chosen"].startswith("2 of ")
    assert len(last.tables[0].axes[1].values) == 2


def test_a_control_that_is_another_completion_ends_the_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sample = BACKEND.sample

    def drifting(
        requests: list[GenerateRequest], edit: Edit | None = None
    ) -> Iterator[list[Sampled]]:
        later = [replace(each, seed=each.seed + 1) for each in requests]
        return sample(later if len(requests) < PROMPTS else requests, edit)

    monkeypatch.setattr(BACKEND, "sample", drifting)
    with pytest.raises(ControlFailed, match="can be trusted"):
        events(asked())


@pytest.mark.parametrize(
    ("axis", "fields", "says"),
    [
        ({}, {"features": None}, "say which layer"),
        ({}, {"corrupt": "x"}, "'corrupt' has no meaning"),
        ({}, {"metric": "logprob"}, "with `reward` it is 'reward'"),
        ({"how": "patch"}, {}, "no clean prompt to patch from"),
        ({"how": "clamp"}, {}, "give both, or neither"),
        ({"alike": 1}, {}, "not sampled"),
        ({"numbers": []}, {}, "names no feature"),
        ({"numbers": [99]}, {}, "out of range"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_sampled(
    axis: dict[str, Any], fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(BadRequest, match=says):
        next(sweep_reward(BACKEND, asked(axis, **fields), exam(), mirror(LAYER)))


def test_a_prompt_without_an_own_row_in_the_dictionary_is_left_alone_at_its_first_token() -> None:
    edit = feature_edit(mirror(0, width=WIDTH), 0, 3)
    seen: list[np.ndarray] = []

    def note(passing: Any) -> Any:
        added = edit.added(passing)
        seen.append(added[passing.position == 0])
        return added

    request = GenerateRequest((5, 6, 7), max_tokens=2)
    list(BACKEND.sample([request], Edit(0, "post_block", "post_block", note)))
    assert all(not first.any() for first in seen)


def test_what_an_edit_adds_is_what_a_sweep_adds() -> None:
    """So much of the decoder row as the feature is active, minus."""
    dictionary = mirror(LAYER, scale=2.0)
    tokens = torch.tensor([[5, 40, 7, 90, 12, 33]])
    x = BACKEND.reader.activations(tokens, "post_block", [LAYER])[LAYER][0]
    from sonde.backends.edit import Passing

    places = np.arange(6)
    added = feature_edit(dictionary, LAYER, 3).added(Passing(x.numpy(), places * 0, places))
    active = dictionary.encode(x).dense(2 * WIDTH)[:, 3, None]
    expected = -(active * dictionary.W_dec[3]).numpy()
    expected[0] = 0.0
    assert np.array_equal(added, expected)
