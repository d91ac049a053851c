"""Many ranks, one answer."""

from typing import Any

import pytest

from sonde.backends.vllm.collective import (
    all_weights,
    first_found,
    stages_of,
    united_manifests,
    united_outcome,
)
from sonde.errors import EngineError


def reply(
    stage: int, share: int, written: list[int], captured: int = 0, elsewhere: tuple[int, ...] = ()
) -> dict[str, Any]:
    report = {"written": written, "elsewhere": elsewhere, "captured": captured, "missing": []}
    return {"stage": stage, "share": share, "weights": f"{stage}{share}", "requests": {"u": report}}


def test_stages_add_up() -> None:
    outcome = united_outcome([reply(0, 0, [0, 2], 5), reply(1, 0, [1], 7)], "u")
    assert outcome.written == {0, 1, 2}
    assert outcome.captured == 12


def test_a_write_that_one_share_missed_was_not_made() -> None:
    outcome = united_outcome([reply(0, 0, [0, 1], 4), reply(0, 1, [0], 3)], "u")
    assert outcome.written == {0}
    assert outcome.captured == 3


def test_every_share_needs_all_of_its_stages() -> None:
    ranks = [reply(0, 0, [0]), reply(1, 0, [1]), reply(0, 1, [0]), reply(1, 1, [])]
    assert united_outcome(ranks, "u").written == {0}


def test_a_head_is_written_by_the_shares_that_hold_it() -> None:
    here, there = reply(0, 0, [0, 1], elsewhere=(2,)), reply(0, 1, [0, 2], elsewhere=(1,))
    assert united_outcome([here, there], "u").written == {0, 1, 2}
    missed = reply(0, 1, [2])  # it holds 1, and did not write it
    assert united_outcome([here, missed], "u").written == {2}
    nobody = [reply(0, share, [], elsewhere=(0,)) for share in range(2)]
    assert united_outcome(nobody, "u").written == set()


def test_what_any_rank_missed_is_missing() -> None:
    missed = reply(1, 0, [])
    missed["requests"]["u"]["missing"] = ["run@1"]
    assert united_outcome([reply(0, 0, []), missed], "u").missing == ("run@1",)


def test_a_rank_that_never_saw_the_request_makes_its_result_worthless() -> None:
    blind = {"stage": 1, "share": 0, "requests": {}}
    with pytest.raises(EngineError, match="stage 1, share 0"):
        united_outcome([reply(0, 0, []), blind], "u")


def test_a_run_exists_if_any_rank_holds_a_part_of_it() -> None:
    def part(layers: list[int], leased: bool = False) -> dict[str, Any]:
        return {
            "hooks": ["mlp_in"], "layers": layers, "positions": [0, 1], "bytes": 8, "leased": leased
        }  # fmt: skip

    whole = united_manifests([{"a": part([0, 1])}, {"a": part([2], True), "b": part([2])}, {}])
    assert whole["a"] == {**part([0, 1, 2], True), "bytes": 16}
    assert whole["b"]["layers"] == [2]
    assert united_manifests([{}, {}]) == {}


def test_the_rank_that_has_it_answers() -> None:
    assert first_found([[None, b"y", None], [b"x", b"y", None]]) == [b"x", b"y", None]


def test_each_layer_is_on_one_stage_and_on_all_shares_of_it() -> None:
    told = [{"stage": i // 2, "layers": [2 * (i // 2), 2 * (i // 2) + 1]} for i in range(4)]
    assert stages_of(told[::-1]) == (0, 0, 1, 1)


def test_weights_are_in_the_order_of_the_ranks_in_any_order_of_answers() -> None:
    assert all_weights([reply(1, 0, []), reply(0, 1, []), reply(0, 0, [])]) == ["00", "01", "10"]
