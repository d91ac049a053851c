import pytest

from sonde.errors import BadRequest
from sonde.training.spread import default_layers_to_hook


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
