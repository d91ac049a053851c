from pathlib import Path

import pytest

from sonde.errors import BadRequest, MissingDictionary
from sonde.settings import CheckpointConfig
from sonde.training.plan import (
    Plan,
    choose_threads,
    default_layers_to_hook,
    find_dictionaries,
    memory,
    watched_layers,
)
from sonde.training.presets import PRESETS


def plan(name: str, **changes: object) -> Plan:
    preset = PRESETS[name]
    given = {
        "preset": preset,
        "recipe": preset.recipe,
        "base": preset.base,
        "config": CheckpointConfig(),
        "layers": (0, preset.n_layers // 2),
        "dictionaries": {},
        "sae_device": "cpu",
        "processes": max(1, preset.gpus),
        "seed": 0,
    }
    return Plan(**(given | changes))  # type: ignore[arg-type]


def test_layers_can_be_left_alone() -> None:
    preset = PRESETS["smollm2-cpu"]
    assert watched_layers(preset, 2, "auto") == (0, 15)
    assert watched_layers(preset, 2, "off") == ()


def test_layers_are_the_nearest_that_have_a_shipped_dictionary_where_those_are_as_many() -> None:
    preset = PRESETS["smollm2-cpu"]
    assert watched_layers(preset, 4, "auto") == (0, 7, 15, 21)
    assert watched_layers(preset, 3, "auto") == (0, 7, 21)
    assert watched_layers(preset, 5, "auto") == (0, 6, 12, 18, 24), "and the missing one is named"
    assert watched_layers(preset, 4, "auto", "own/saes") == (0, 7, 14, 21)
    assert watched_layers(PRESETS["9b-local-l0-50"], 4, "auto") == (0, 8, 16, 24)


def test_a_layer_without_a_dictionary_is_an_error_that_names_it(tmp_path: Path) -> None:
    preset = PRESETS["smollm2-cpu"]
    with pytest.raises(MissingDictionary, match="layer 3 has no dictionary: .*layer_3"):
        find_dictionaries(preset, None, (3,))
    (tmp_path / "layer0.sae.pt").touch()
    (tmp_path / "layer_7").mkdir()
    found = find_dictionaries(preset, str(tmp_path), (0, 7))
    assert found == {0: str(tmp_path / "layer0.sae.pt"), 7: str(tmp_path / "layer_7")}
    with pytest.raises(MissingDictionary, match=r"layer 8 has no dictionary: .*layer8\.sae\.pt"):
        find_dictionaries(preset, str(tmp_path), (8,))


def test_dictionaries_of_a_repository_are_named_by_their_file() -> None:
    preset = PRESETS["9b-local-l0-50"]
    assert find_dictionaries(preset, None, (16,)) == {16: f"{preset.saes}/layer16.sae.pt"}


def test_memory_is_that_of_the_parts() -> None:
    alone, sharded = memory(plan("9b-local-l0-50")), memory(plan("9b-fsdp-l0-50"))
    assert alone.weights == 18_000_000_000
    assert sharded.weights == 9_000_000_000
    assert alone.dictionaries == 2 * 2 * 4096 * 65536 * 4
    assert alone.total > alone.weights + alone.dictionaries
    assert memory(plan("9b-local-l0-50", layers=())).dictionaries == 0


def test_an_optimizer_step_has_all_its_rows_whatever_the_number_of_processes() -> None:
    for processes in (1, 2):
        chosen = plan("smollm2-cpu", processes=processes)
        rows = chosen.accumulation * chosen.recipe.rows_per_pass * processes
        assert rows == chosen.recipe.prompts_per_step * chosen.recipe.num_generations


def test_threads_are_as_asked_then_as_told_then_what_is_idle() -> None:
    assert choose_threads(3, {"OMP_NUM_THREADS": "7"}) == 3
    assert choose_threads(None, {"OMP_NUM_THREADS": "7"}) == 7
    assert choose_threads(None, {"OMP_NUM_THREADS": "many"}) >= 1


@pytest.mark.parametrize(
    ("layers", "n", "wanted"),
    [
        (40, 2, [0, 20]),
        (64, 2, [0, 32]),
        (40, 4, [0, 10, 20, 30]),
        (64, 4, [0, 16, 32, 48]),
        (30, 2, [0, 15]),
        (30, 1, [0]),
        (3, 3, [0, 1, 2]),
        (3, 7, [0, 1, 2]),
    ],
)
def test_layers_are_spread_evenly_from_the_first(layers: int, n: int, wanted: list[int]) -> None:
    assert default_layers_to_hook(layers, n) == wanted


@pytest.mark.parametrize("n", [0, -1])
def test_fewer_than_one_layer_is_an_error(n: int) -> None:
    with pytest.raises(BadRequest, match=f"sae_num_layers is {n}"):
        default_layers_to_hook(30, n)
