import json

import numpy as np

from sonde.schema.records import SAELogRecord
from sonde.training.encoding import Features, Recorded
from sonde.training.lines import NonFinite, chunk
from tests.training.test_pieces import sample


def features(values: list[list[float]], losses: list[float]) -> Features:
    indices = np.arange(np.size(values)).reshape(np.shape(values))
    return Features(indices, np.array(values, np.float32), np.array(losses, np.float32))


def done(every: int = 2) -> Recorded:
    shallow = features([[3.5, 1.25], [2.0, 0.0]], [0.125, 9.0])
    deep = features([[1.0, 0.5], [0.0, 0.0]], [1.0, 2.0])
    return Recorded(sample(0), 3, every, {15: deep, 0: shallow})


def test_every_token_has_a_line_for_every_layer_with_exactly_six_keys() -> None:
    written = chunk(done(), 7, 100, NonFinite())
    assert written is not None
    assert written.records == 4
    found = [json.loads(line) for line in written.lines.splitlines()]
    assert [(each["token_index"], each["layer_index"]) for each in found] == [
        (100, 0),
        (100, 15),
        (102, 0),
        (102, 15),
    ]
    for each in found:
        assert list(each) == list(SAELogRecord.model_fields)
        SAELogRecord(**each)
    assert found[0] == {
        "step": 7,
        "token_index": 100,
        "layer_index": 0,
        "top_feature_indices": [0, 1],
        "top_feature_activations": [3.5, 1.25],
        "reconstruction_loss": 0.125,
    }


def test_lists_are_shorter_where_fewer_features_fired() -> None:
    written = chunk(done(), 7, 100, NonFinite())
    assert written is not None
    found = [json.loads(line) for line in written.lines.splitlines()]
    assert found[2]["top_feature_activations"] == [2.0]
    assert found[3]["top_feature_indices"] == found[3]["top_feature_activations"] == []


def test_what_is_not_finite_is_null_and_counted() -> None:
    counts = NonFinite()
    bad = features([[float("inf"), 1.0]], [float("nan")])
    written = chunk(Recorded(sample(0), 1, 1, {3: bad}), 1, 0, counts)
    assert written is not None
    (found,) = (json.loads(line, parse_constant=_refuse) for line in written.lines.splitlines())
    assert found["top_feature_activations"] == [None, 1.0]
    assert found["reconstruction_loss"] is None
    assert counts.of(3) == {"top_feature_activations": 1, "reconstruction_loss": 1}
    assert counts.of(4) == {}


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} in a file")


def test_numbers_are_as_precise_as_they_are_stored() -> None:
    value = np.float32(1 / 3)
    written = chunk(
        Recorded(sample(0), 1, 1, {0: features([[float(value)]], [1e-20])}), 1, 0, NonFinite()
    )
    assert written is not None
    found = json.loads(written.lines)
    assert abs(found["top_feature_activations"][0] - value) < 1e-7
    assert found["reconstruction_loss"] == 1e-20


def test_the_last_token_of_the_prompt_has_the_place_after_the_completion() -> None:
    three = features([[3.5], [2.0], [1.0]], [0.125, 9.0, 1.0])
    recorded = Recorded(sample(0), 4, 2, {0: three}, prompt=True)
    written = chunk(recorded, 7, 100, NonFinite())
    assert written is not None
    found = [json.loads(line)["token_index"] for line in written.lines.splitlines()]
    assert found == [100, 102, 104]


def test_a_completion_without_records_has_no_lines() -> None:
    assert chunk(Recorded(sample(0), 3, 1, {}), 1, 0, NonFinite()) is None
