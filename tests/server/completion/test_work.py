"""Tokens become pieces of text with what was asked for, and end where they have to."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from sonde.backends.base import GenerateRequest, logprobs_of
from sonde.backends.torch.backend import TorchBackend
from sonde.engine import Limits
from sonde.errors import HookNeverFired, SourceRunDropped
from sonde.schema import CompletionRequest, ModelDescription, SourceRun
from sonde.server.completion.admit import AdmittedRequest, admit_completion
from sonde.server.completion.work import ChoiceDelta, CompletionItem, Speech, complete
from tests.server.tiny_server import OTHER, PROMPT, chatting_backend

ZEROS = {"layer": 1, "hook": "mlp_out", "source_module": "zeros"}


@cache
def backend() -> TorchBackend:
    return chatting_backend()


@cache
def speech() -> Speech:
    return Speech.of(backend())


def ask(**fields: Any) -> AdmittedRequest:
    given = {"prompt": PROMPT, "max_tokens": 6, "temperature": 0} | fields
    return admit_completion(CompletionRequest.model_validate(given), backend(), {}, Limits())


def made(asked: AdmittedRequest) -> list[CompletionItem]:
    return list(complete(backend(), asked, speech()))


def pieces(**fields: Any) -> list[ChoiceDelta]:
    return [each for each in made(ask(**fields)) if isinstance(each, ChoiceDelta)]


def text_of(found: list[ChoiceDelta], index: int = 0) -> str:
    return "".join(piece.text for piece in found if piece.index == index)


@cache
def greedy(prompt: str = PROMPT, max_tokens: int = 6) -> list[int]:
    """The tokens themselves, from the backend."""
    request = GenerateRequest(tuple(backend().tokenize(prompt)), max_tokens=max_tokens)
    return [each.token for each in backend().generate(request)]


def replace_description(model: ModelDescription) -> TorchBackend:
    """A backend that describes itself otherwise."""
    made = chatting_backend()
    made.describe = lambda: model  # type: ignore[method-assign]
    return made


def asked_of(there: TorchBackend, **fields: Any) -> AdmittedRequest:
    given = {"prompt": PROMPT, "max_tokens": 6, "temperature": 0} | fields
    return admit_completion(CompletionRequest.model_validate(given), there, {}, Limits())


def test_the_text_is_that_of_the_generated_tokens() -> None:
    found = pieces()
    assert text_of(found) == backend().detokenize(greedy())
    assert [piece.generated for piece in found] == [1] * 6 + [0]
    assert [piece.finish for piece in found] == [None] * 6 + ["length"]


def test_every_token_is_yielded_as_soon_as_it_is_made() -> None:
    """So that others have their turns, and a job can be stopped, between any two tokens."""
    work = complete(backend(), ask(max_tokens=50), speech())
    first = next(work)
    assert isinstance(first, ChoiceDelta)
    assert first.generated == 1


def test_choices_come_prompt_by_prompt() -> None:
    found = pieces(prompt=[PROMPT, OTHER], n=2, max_tokens=2)
    assert [piece.index for piece in found if piece.finish] == [0, 1, 2, 3]
    assert text_of(found, 1) == backend().detokenize(greedy(max_tokens=2))
    assert text_of(found, 2) == backend().detokenize(greedy(OTHER, 2))


def test_choices_of_one_seed_differ_and_come_again() -> None:
    def texts(seed: int) -> list[str]:
        found = pieces(n=3, temperature=1, seed=seed)
        return [text_of(found, i) for i in range(3)]

    assert texts(5) == texts(5)
    assert len(set(texts(5))) == 3
    assert texts(2**63 - 1)


def test_an_echo_comes_first() -> None:
    found = pieces(echo=True)
    assert found[0] == ChoiceDelta(0, PROMPT)
    assert text_of(found) == PROMPT + backend().detokenize(greedy())


def test_no_tokens_are_an_end_at_once() -> None:
    assert pieces(max_tokens=0) == [ChoiceDelta(0, finish="length")]
    assert pieces(max_tokens=0, echo=True) == [
        ChoiceDelta(0, PROMPT),
        ChoiceDelta(0, finish="length"),
    ]


def test_an_end_token_ends_the_text_and_is_no_part_of_it() -> None:
    tokens = greedy()
    asked = ask(logprobs=0)
    ends = replace(asked, ending=replace(asked.ending, ids=frozenset({tokens[2]})))
    found = [each for each in made(ends) if isinstance(each, ChoiceDelta)]
    assert (found[-1].finish, found[-1].reason) == ("stop", None)
    assert text_of(found) == backend().detokenize(tokens[:2])
    assert sum(piece.generated for piece in found) == 3
    assert [piece.shown.chosen.token for piece in found if piece.shown] == tokens[:3]


def test_13_an_ignored_end_token_ends_nothing() -> None:
    """The model's second token is made its end token."""
    tokens = greedy()
    model = backend().describe().model_copy(update={"end_ids": [tokens[1]]})
    chatting = replace_description(model)
    ended = [each for each in complete(chatting, asked_of(chatting), speech())]
    assert isinstance(ended[-1], ChoiceDelta)
    assert (ended[-1].finish, ended[-1].reason) == ("stop", None)
    on = [each for each in complete(chatting, asked_of(chatting, ignore_eos=True), speech())]
    assert isinstance(on[-1], ChoiceDelta)
    assert on[-1].finish == "length"
    assert "".join(p.text for p in on if isinstance(p, ChoiceDelta)) == backend().detokenize(tokens)


def test_13_a_named_stop_token_is_the_reason() -> None:
    tokens = greedy()
    found = pieces(stop_token_ids=[tokens[2]])
    first = tokens.index(tokens[2])
    assert (found[-1].finish, found[-1].reason) == ("stop", tokens[2])
    assert text_of(found) == backend().detokenize(tokens[:first])
    kept = pieces(stop_token_ids=[tokens[2]], include_stop_str_in_output=True)
    assert text_of(kept) == backend().detokenize(tokens[: first + 1])


def test_13_the_prompt_is_scored_once_for_all_of_its_choices() -> None:
    """The first piece of every choice has it, and it is the same."""
    found = pieces(prompt=[PROMPT, OTHER], n=2, max_tokens=2, echo=True, logprobs=1)
    first = [next(piece for piece in found if piece.index == i) for i in range(4)]
    assert [piece.text for piece in first] == [PROMPT, PROMPT, OTHER, OTHER]
    assert first[0].prompt is first[1].prompt is not None
    assert first[2].prompt is first[3].prompt is not None
    assert first[0].prompt != first[2].prompt
    assert sum(piece.generated for piece in found) == 8


def test_13_no_tokens_and_a_scored_prompt_are_a_pass_and_no_token() -> None:
    scored, end = pieces(max_tokens=0, prompt_logprobs=0)
    assert scored.prompt is not None
    assert scored.prompt.listed is not None
    assert len(scored.prompt.listed) == 8
    assert end == ChoiceDelta(0, finish="length")


def test_a_stop_string_ends_the_text_across_tokens() -> None:
    whole = text_of(pieces(max_tokens=12))
    for start in range(1, len(whole) - 3):
        stop = whole[start : start + 3]
        found = pieces(max_tokens=12, stop=[stop])
        assert text_of(found) == whole[: whole.index(stop)]
        assert found[-1].finish == "stop"


def test_no_more_tokens_are_made_than_a_stop_string_takes() -> None:
    first = backend().detokenize(greedy()[:1])
    assert sum(piece.generated for piece in pieces(stop=[first])) == 1


def test_a_stop_string_that_does_not_come_changes_nothing() -> None:
    found = pieces(stop=["no such text"])
    assert text_of(found) == text_of(pieces())
    assert found[-1].finish == "length"


def test_the_log_probabilities_asked_for_come_with_each_token() -> None:
    found = pieces(logprobs=3)
    shown = [piece.shown for piece in found if piece.shown]
    tokens = backend().tokenize(PROMPT)
    assert [each.chosen.token for each in shown] == greedy()
    for step, each in enumerate(shown):
        [row] = backend().baselines([(tokens + greedy()[:step], logprobs_of(range(329)))], [])
        best = np.argsort(-np.array(row))[:3].tolist()
        assert [other.token for other in each.others] == best
        assert [other.logprob for other in each.others] == pytest.approx(
            [row[i] for i in best], abs=1e-5
        )


def test_tokens_asked_for_come_beside_the_chosen_one() -> None:
    [first, *_] = pieces(logprobs=1, logprob_token_ids=[70, 71])
    assert first.shown is not None
    assert {other.token for other in first.shown.others} == {greedy()[0], 70, 71}


def test_offsets_say_where_a_tokens_text_begins() -> None:
    found = pieces(logprobs=0, max_tokens=12)
    text = text_of(found)
    for piece in found:
        if piece.shown and piece.shown.chosen.text:
            own = piece.shown.chosen.text
            assert text[piece.shown.offset :].startswith(own)


def test_without_being_asked_for_no_log_probabilities_are_looked_up() -> None:
    assert all(piece.shown is None for piece in pieces())


def test_a_capture_comes_first_and_is_stored() -> None:
    capture = {"patch_source": {"run": "kept", "hooks": {"mlp_in": [1]}, "positions": [2]}}
    run, *_ = made(ask(capture=capture, max_tokens=1))
    assert isinstance(run, SourceRun)
    assert backend().manifests()["kept"].generation == run.generation
    assert (run.hooks, run.layers, run.positions, run.n_tokens) == (["mlp_in"], [1], [2], 8)
    backend().drop("kept")


def test_a_patch_changes_what_comes() -> None:
    patch = [ZEROS | {"dest_position": 7, "hook": "post_block", "layer": 2}]
    assert text_of(pieces(patch=patch)) != text_of(pieces())


def test_a_patch_that_the_end_came_before_is_an_error() -> None:
    first = backend().detokenize(greedy()[:1])
    patch = [ZEROS | {"dest_position": 9}]
    assert pieces(patch=patch)
    with pytest.raises(HookNeverFired, match="ended the completion after 1 tokens, before .* 9"):
        pieces(patch=patch, stop=[first])


@pytest.mark.parametrize("again", [True, False])
def test_a_run_dropped_or_replaced_meanwhile_is_an_error(again: bool) -> None:
    tokens = backend().tokenize(OTHER)
    backend().capture("r", tokens, ["mlp_out"], [1], [2])
    patch = {"layer": 1, "hook": "mlp_out", "dest_position": 2}
    asked = ask(patch=[patch | {"source_run": "r", "source_position": 2}])
    backend().drop("r")
    if again:
        backend().capture("r", tokens, ["mlp_out"], [1], [2])
    with pytest.raises(SourceRunDropped, match="'r' was dropped or replaced"):
        made(asked)
    backend().drop("r")


def test_stopping_between_tokens_leaves_nothing_behind() -> None:
    work = complete(backend(), ask(max_tokens=50), speech())
    next(work)
    assert isinstance(work, Iterator)
    work.close()  # type: ignore[attr-defined]
    assert text_of(pieces()) == backend().detokenize(greedy())
