from dataclasses import replace

from sonde.schema.records import LayerHealth
from sonde.training.alarms import GATE_STEPS, STEPS, Alarms
from sonde.training.pieces import Sample
from tests.training.test_pieces import sample


def good(gate: float | None = 1.0) -> list[Sample]:
    scored = replace(sample(0), reward=1.0, advantage=1.0, parts=(gate, None, None, None))
    return [scored, replace(scored, reward=0.0, advantage=-1.0)]


def layer(fvu: float | None, tokens: int = 40) -> LayerHealth:
    return LayerHealth(
        layer_index=15,
        tokens=tokens,
        fvu=fvu,
        cosine=None,
        l0=None,
        dead_share=None,
        input_norm=None,
        records_written=0,
        records_dropped=0,
    )


def told(alarms: Alarms, samples: list[Sample], times: int) -> list[str]:
    return [alarm for _ in range(times) for alarm in alarms.look(samples, [], [])]


def test_a_healthy_run_says_nothing() -> None:
    assert told(Alarms(), good(), 20) == []


def test_no_reward_variance_is_told_once_and_stands_until_it_ends() -> None:
    alarms = Alarms()
    flat = [replace(each, advantage=0.0) for each in good()]
    assert told(alarms, flat, STEPS - 1) == []
    assert ["no reward variance" in each for each in told(alarms, flat, 5)] == [True]
    assert len(alarms.standing) == 1
    told(alarms, good(), 1)
    assert alarms.standing == []
    assert len(told(alarms, flat, STEPS)) == 1


def test_a_run_without_rewards_has_no_variance_to_miss() -> None:
    assert told(Alarms(), [sample(0)], 10) == []


def test_everything_truncated() -> None:
    cut = [replace(each, truncated=True) for each in good()]
    assert "everything truncated" in told(Alarms(), cut, STEPS)[0]
    assert told(Alarms(), [cut[0], good()[1]], 10) == []


def test_a_gate_that_never_opened() -> None:
    alarms = Alarms()
    assert told(alarms, good(gate=0.0), GATE_STEPS - 1) == []
    assert "gate never passed" in told(alarms, good(gate=0.0), 1)[0]
    told(alarms, good(), 1)
    assert alarms.standing == []
    assert told(alarms, good(gate=0.0), 10) == []  # it has opened once
    assert told(Alarms(), good(gate=None), 10) == []


def test_a_dictionary_that_no_longer_explains_the_policy() -> None:
    alarms = Alarms()
    for fvu in (0.10, 0.11, 0.12, 0.11, 0.13):
        assert alarms.look(good(), [layer(fvu)], []) == []
    new = [alarm for fvu in (0.3, 0.3, 0.3) for alarm in alarms.look(good(), [layer(fvu)], [])]
    assert len(new) == 1
    assert "layer 15 no longer explains the policy: FVU was 0.10" in new[0]


def test_a_few_tokens_say_nothing_about_a_dictionary() -> None:
    alarms = Alarms()
    for fvu in (0.1, 5.0, None, 0.1, 5.0):
        assert alarms.look(good(), [layer(fvu, tokens=1)], []) == []


def test_a_disk_that_cannot_be_written_is_said() -> None:
    alarms = Alarms()
    assert "No space left" in alarms.look(good(), [], ["No space left on device"])[0]
    assert alarms.look(good(), [], ["No space left on device"]) == []
