"""What came is counted and gathered."""

from typing import Any

from sonde.engine import Limits
from sonde.schema import CompletionRequest
from sonde.server.completion.admit import admit_completion
from sonde.server.completion.shape import Tally, gathered
from sonde.server.completion.work import ChoiceDelta
from tests.scripted import Scripted

CAPTURE = {"patch_source": {"run": "r", "hooks": {"mlp_out": [1]}}}


def tally(**fields: Any) -> Tally:
    given = {"prompt": [[1, 2, 3], [4]], "max_tokens": 2, "n": 2} | fields
    request = CompletionRequest.model_validate(given)
    return Tally(admit_completion(request, Scripted(), {}, Limits()))


def test_prompts_count_once_and_every_generated_token_counts() -> None:
    counted = tally()
    counted.pieces(
        [
            ChoiceDelta(0, "a", generated=1),
            ChoiceDelta(0, finish="stop"),
            ChoiceDelta(1, generated=1),
        ]
    )
    usage = counted.usage()
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (4, 2, 6)


def test_pieces_are_put_together_by_choice() -> None:
    made = [
        ChoiceDelta(1, "c"),
        ChoiceDelta(0, "a"),
        ChoiceDelta(0, "b"),
        ChoiceDelta(1, "d", finish="length"),
    ]
    choices = gathered(tally(), made)
    assert [choice.text for choice in choices] == ["ab", "cd", "", ""]
    assert [choice.finish for choice in choices] == [None, "length", None, None]


def test_the_last_piece_is_the_end_of_the_last_choice() -> None:
    counted = tally()
    assert counted.last(ChoiceDelta(3, finish="stop"))
    assert not counted.last(ChoiceDelta(2, finish="stop"))
    assert not counted.last(ChoiceDelta(3, "a"))


def test_a_capture_is_reported_when_it_is_stored() -> None:
    counted = tally(prompt=[1, 2, 3], capture=CAPTURE)
    run = Scripted().capture("r", [1, 2, 3], ["mlp_out"], [1], [0])
    assert counted.pieces([run]) == []
    found = counted.capture_results()
    assert found is not None
    assert found["patch_source"].status == "ok"
    assert found["patch_source"].payload == {"run": "r", "generation": 1, "n_tokens": 3, "bytes": 1}


def test_without_a_capture_nothing_is_reported_unless_it_was_waited_for() -> None:
    assert tally().capture_results() is None
    found = tally(capture_wait=True).capture_results()
    assert found is not None
    assert found["patch_source"].status == "not_requested"
