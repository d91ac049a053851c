import pytest

from sonde.errors import BadRequest
from sonde.training.plan import default_layers_to_hook
from sonde.training.presets import PRESETS, find_preset


def test_the_presets_are_those_people_know() -> None:
    found = {
        name: (each.base, each.saes, each.strategy, each.gpus) for name, each in PRESETS.items()
    }
    nine = "Qwen/SAE-Res-Qwen3.5-9B-Base-W64K-L0_"
    assert found == {
        "smollm2-cpu": ("smollm2", "shipped", "single", 0),
        "9b-local-l0-50": ("Qwen/Qwen3.5-9B-Base", f"{nine}50", "single", 1),
        "9b-local-l0-100": ("Qwen/Qwen3.5-9B-Base", f"{nine}100", "single", 1),
        "9b-fsdp-l0-50": ("Qwen/Qwen3.5-9B-Base", f"{nine}50", "fsdp", 2),
        "9b-fsdp-l0-100": ("Qwen/Qwen3.5-9B-Base", f"{nine}100", "fsdp", 2),
        "27b-fsdp-l0-100": (
            "Qwen/Qwen3.5-27B",
            "Qwen/SAE-Res-Qwen3.5-27B-W80K-L0_100",
            "fsdp",
            6,
        ),
    }


def test_sizes_are_those_of_the_published_models() -> None:
    assert default_layers_to_hook(PRESETS["smollm2-cpu"].n_layers, 2) == [0, 15]
    assert PRESETS["9b-local-l0-50"].d_sae == 65536
    assert PRESETS["27b-fsdp-l0-100"].k == 100


def test_an_unknown_preset_is_answered_with_those_there_are() -> None:
    with pytest.raises(BadRequest, match=r"'9b'.*9b-local-l0-50"):
        find_preset("9b")
