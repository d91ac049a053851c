"""Two readings, told: tokens by what they gained, features by what putting them back undoes."""

import numpy as np
import pytest

from sonde.sae.changed import text_of, told
from sonde.sae.gained import Move, Reading, Undone
from sonde.schema.analytics import Coefficient
from sonde.schema.changed import Probe
from tests.sae.test_gained import loaded
from tests.tiny_model import tiny_tokenizer

SAID = " Paris Rome Paris"


def probe(completion: str = SAID, tokens: int = 3) -> Probe:
    return Probe(
        generation_id="3-1", step=3, R=1.0, prompt="The Eiffel Tower", completion=completion,
        prompt_tokens=len(tiny_tokenizer()("The Eiffel Tower")["input_ids"]),
        completion_tokens=tokens,
    )  # fmt: skip


def test_a_text_has_the_tokens_that_were_recorded_or_is_left_out() -> None:
    backend = loaded()
    whole = text_of(backend, probe())
    assert whole is not None
    assert backend.detokenize(whole.tokens[whole.start :]) == SAID
    assert len(whole.places) == 3
    ended = text_of(backend, probe(tokens=4))
    assert ended is not None
    assert ended.tokens[-1] in backend.describe().end_ids, "the end token has no text"
    assert text_of(backend, probe(tokens=7)) is None


def test_tokens_are_added_up_and_features_ranked_by_what_they_undo() -> None:
    backend = loaded()
    text = text_of(backend, probe())
    assert text is not None
    before = Reading("a", [np.array([-3.0, -2.0, -1.0])], {})
    after = Reading("b", [np.array([-1.0, -2.5, -0.5])], {})
    at = text.places.start
    gone = Move(1, 5, {(0, at): -1.0}, {(0, at): 2.0}, 1.0)
    still = Move(1, 6, {(0, at + 1): 4.0}, {(0, at + 1): -4.0}, 4.0)
    untried = Move(1, 7, {(0, at): 4.0}, {(0, at): -4.0}, 4.0)
    found = told(
        backend, (0, 20), [probe()], [text], before, after,
        moved=[untried, still, gone],
        undone={(1, 5): Undone(1.75, (0.1, -0.2)), (1, 6): Undone(-0.1, (0.2, 0.1))},
        together={
            (0, "all + error"): Undone(0.0, (0.5, -0.25)),
            (1, "all features"): Undone(1.0, (0.0, 0.5)),
            (1, "all + error"): Undone(2.0, (0.5, -0.25)),
        },
        owed={},
        rewards={(1, 7): Coefficient(r=0.9, low=None, high=None)}, left_out=2, reasons=["why"],
    )  # fmt: skip
    assert [(each.token, each.gain, each.count) for each in found.gained] == [(" Paris", 2.5, 2)]
    assert [(each.token, each.mean) for each in found.lost] == [(" Rome", -0.5)]
    assert found.by_place == [2.0, -0.5, 0.5]
    assert (found.gain, found.tokens, found.left_out) == (2.0, 3, 2)
    assert [each.index for each in found.places] == [0, 2]
    assert found.places[0].context == "The Eiffel Tower"
    assert [each.feature for each in found.features] == [5, 6, 7]
    best, _, last = found.features
    assert (best.p, best.p_family) == (1 / 3, 1 / 3)
    assert best.with_gain == pytest.approx(np.corrcoef([2.0, 0, 0], [2.0, -0.5, 0.5])[0, 1])
    assert (last.undone, last.p, last.p_family) == (None, None, None)
    assert last.with_reward is not None
    assert [(each.layer, each.what) for each in found.layers] == [
        (0, "all + error"), (1, "all + error"), (1, "all features"),
    ]  # fmt: skip
    assert [each.p_family for each in found.layers] == [1.0, 1 / 3, 1 / 3]
