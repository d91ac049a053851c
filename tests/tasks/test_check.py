"""What a model makes of pairs is what its unpatched prompts say."""

import pytest

import sonde
from sonde.backends.base import logprobs_of
from sonde.errors import BadRequest
from sonde.model import Model
from sonde.schema.pair import PromptPair
from sonde.tasks import Pairs, check
from tests.tiny_model import save_tiny_model

WORDS = (" city", " Tower", " Mary", " John", " drink", " store", " Paris", " Rome")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return sonde.load(str(save_tiny_model(tmp_path_factory.mktemp("tiny"))), device="cpu")


def pair(n: int, answer: str | list[str | int], foil: str | None) -> PromptPair:
    """Prompts of different lengths, one after another."""
    words = [
        "The",
        "Eiffel",
        "Tower",
        "is",
        "in",
        "the",
        "city",
        "of",
        "Paris",
        "When",
        "Mary",
        "and",
        "John",
        "went",
        "to",
        "the",
    ]
    rest = " ".join(words[: 3 + n % 9])
    return PromptPair(
        clean=f"{rest} Mary{n}", corrupt=f"{rest} John{n}", answer=answer, foil=foil,
        roles={"name": {"clean": " Mary", "corrupt": " John"}} if n % 9 < 6 else {},  # type: ignore[dict-item]
    )  # fmt: skip


PAIRS = Pairs.of(
    [pair(n, WORDS[n % 8], WORDS[(n + 1 + n % 5) % 8] if n % 4 else None) for n in range(40)]
)


def difference(model: Model, prompt: object, answer: str, foil: str | None) -> float:
    """By hand: one prompt at a time."""
    backend = model.backend
    ids = [backend.tokenize(each, special=False)[0] for each in (answer, foil) if each is not None]
    [told] = backend.baselines([(backend.tokenize(str(prompt)), logprobs_of(ids))], ())
    return told[0] - told[1] if foil is not None else told[0]


def test_a_verdict_is_that_of_the_prompts_one_by_one(model: Model) -> None:
    found = PAIRS.check(model)
    assert len(found.verdicts) == 40
    assert len(found) + len(found.dropped) == 40
    for each, verdict in zip(PAIRS, found.verdicts, strict=True):
        foil = None if each.foil is None else str(each.foil)
        clean = difference(model, each.clean, str(each.answer), foil)
        corrupt = difference(model, each.corrupt, str(each.answer), foil)
        assert (verdict.clean, verdict.corrupt) == pytest.approx((clean, corrupt), abs=1e-5)
        right = clean > corrupt if foil is None else clean > 0 > corrupt
        assert (verdict.reason is None) == right


def test_what_is_dropped_is_known_by_its_number_and_why(model: Model) -> None:
    found = PAIRS.check(model)
    assert 0 < len(found) < 40
    for dropped in found.dropped:
        assert PAIRS[dropped.number] not in found.pairs
        assert dropped.reason.split(":")[0] in ("wrong on clean", "right on corrupt", "wrong")
    assert {each.reason.split(":")[0] for each in found.dropped} >= {"wrong on clean", "wrong"}


def test_batches_change_no_verdict(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    together = PAIRS.check(model).verdicts
    monkeypatch.setattr(check, "AT_ONCE", 1)
    assert PAIRS.check(model).verdicts == together


def test_an_answer_of_several_tokens_is_dropped_unless_it_may_be(model: Model) -> None:
    made = Pairs.of([*PAIRS, pair(50, " Mary John", None)])
    dropped = made.check(model).dropped[-1]
    assert dropped.number == 40
    assert dropped.reason == "answer ' Mary John' is 2 tokens, ' Mary| John', and one is asked"
    verdict = made.check(model, one_token=False).verdicts[-1]
    backend = model.backend
    tokens, (mary, john) = backend.tokenize(str(made[40].clean)), backend.tokenize(" Mary John")
    first = backend.baselines([(tokens, logprobs_of([mary]))], ())[0][0]
    then = backend.baselines([([*tokens, mary], logprobs_of([john]))], ())[0][0]
    assert verdict.clean == pytest.approx(first + then, abs=1e-5)


def test_a_role_that_is_not_there_is_dropped_too(model: Model) -> None:
    lost = PAIRS[0].model_copy(update={"roles": {"verb": " flew"}})
    dropped = Pairs((lost, *PAIRS[1:])).check(model).dropped
    assert (dropped[0].number, "role 'verb'" in dropped[0].reason) == (0, True)


def test_a_prompt_that_is_too_long_is_dropped(model: Model) -> None:
    long = PAIRS[0].model_copy(update={"clean": " Mary" * 80, "roles": {}})
    [first, *_] = Pairs((long, *PAIRS[1:])).check(model).dropped
    assert first.reason == "a prompt of 80 tokens; the model takes 64"


def test_where_nothing_is_left_the_first_reasons_are_said(model: Model) -> None:
    wrong = [PAIRS[each.number] for each in PAIRS.check(model).dropped]
    with pytest.raises(BadRequest, match=r"none of \d+ pairs right: pair 0: .*; and \d+ more"):
        Pairs.of(wrong).check(model)
