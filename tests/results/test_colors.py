"""The colour maps: monotone, symmetric, and apart for colour-blind readers."""

from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import pytest

from sonde.results.colors import (
    Rgb,
    Theme,
    colormap,
    css,
    diverging,
    mix,
    sequential,
    text_on,
)

THEMES: tuple[Theme, ...] = get_args(Theme)
STEPS = np.linspace(0, 1, 41)

# Full-severity simulation on linear RGB, Machado, Oliveira and Fernandes 2009.
BLINDNESS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(color: Rgb) -> np.ndarray:
    c = np.array(color) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    lms = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    ) @ np.clip(rgb, 0, 1)
    return np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    ) @ np.cbrt(lms)


def lightness(color: Rgb) -> float:
    return float(oklab(linear(color))[0])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("sign", [-1, 1])
def test_each_arm_changes_lightness_in_one_direction(theme: Theme, sign: Literal[-1, 1]) -> None:
    arm = [lightness(diverging(sign * step, theme)) for step in STEPS]
    away = 1 if theme == "dark" else -1
    assert all(away * (b - a) > -0.002 for a, b in pairwise(arm))
    assert away * (arm[-1] - arm[0]) > 0.5


@pytest.mark.parametrize("theme", THEMES)
def test_neither_direction_looks_stronger_than_the_other(theme: Theme) -> None:
    for step in STEPS:
        above, below = lightness(diverging(step, theme)), lightness(diverging(-step, theme))
        assert above == pytest.approx(below, abs=0.02)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("kind", BLINDNESS)
def test_the_two_directions_stay_apart_for_colour_blind_readers(theme: Theme, kind: str) -> None:
    for step in (0.3, 0.5, 0.75, 1.0):
        seen = [
            oklab(np.array(BLINDNESS[kind]) @ linear(diverging(sign * step, theme)))
            for sign in (-1, 1)
        ]
        assert np.linalg.norm(seen[0] - seen[1]) > 0.08


@pytest.mark.parametrize("theme", THEMES)
def test_the_sequential_map_changes_lightness_in_one_direction(theme: Theme) -> None:
    values = [lightness(sequential(step, theme)) for step in STEPS]
    away = 1 if theme == "dark" else -1
    assert all(away * (b - a) > 0 for a, b in pairwise(values))


@pytest.mark.parametrize("theme", THEMES)
def test_the_neutral_of_both_maps_is_one_colour_without_a_hue(theme: Theme) -> None:
    assert diverging(0, theme) == sequential(0, theme)
    assert max(diverging(0, theme)) - min(diverging(0, theme)) <= 6


def test_places_beyond_the_ends_have_the_colour_of_the_ends() -> None:
    assert diverging(7) == diverging(1)
    assert diverging(-7) == diverging(-1)
    assert sequential(-1) == sequential(0)


@pytest.mark.parametrize("theme", THEMES)
def test_text_is_legible_on_every_colour(theme: Theme) -> None:
    def luminance(color: Rgb) -> float:
        return float(linear(color) @ [0.2126, 0.7152, 0.0722])

    for place in np.linspace(-1, 1, 81):
        background = diverging(place, theme)
        dark, light = sorted((luminance(background), luminance(text_on(background))))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_matplotlib_gets_the_same_colours() -> None:
    drawn = colormap("diverging", "light")
    for place in (-1.0, 0.0, 1.0):
        channels = np.array(drawn((place + 1) / 2)[:3]) * 255
        assert channels == pytest.approx(diverging(place), abs=1.5)


def test_colours_are_written_and_mixed() -> None:
    assert css((0, 128, 255)) == "#0080ff"
    assert mix((0, 0, 0), (200, 100, 50), 0.5) == (100, 50, 25)
