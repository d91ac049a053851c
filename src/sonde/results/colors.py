"""The two colour maps of Sonde, for every surface.

**Diverging**, blue through neutral to orange: distance from a baseline, and its direction.
**Sequential**, neutral to teal: size, where there is no baseline to be on either side of.

Blue and orange stay apart under every common colour blindness, and both arms of the diverging map
pass through the same lightness, so that neither direction looks stronger than the other. Control
points are interpolated in OKLab (https://bottosson.github.io/posts/oklab/), where equal steps look
equal. On a dark surface the neutral is dark and strength is brightness; on a light one the reverse:
in both, what equals the baseline recedes into the page.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

Rgb = tuple[int, int, int]
Theme = Literal["light", "dark"]
Kind = Literal["diverging", "sequential"]

_Lch = tuple[float, float, float]
_Triple = tuple[float, float, float]

# (lightness, chroma, hue in degrees), evenly spaced from the least value to the greatest.
_POINTS: dict[Kind, dict[Theme, tuple[_Lch, ...]]] = {
    "diverging": {
        "light": (
            (0.40, 0.125, 258),
            (0.70, 0.110, 248),
            (0.965, 0.003, 90),
            (0.70, 0.140, 60),
            (0.40, 0.115, 38),
        ),
        "dark": (
            (0.84, 0.095, 240),
            (0.56, 0.125, 252),
            (0.26, 0.006, 260),
            (0.56, 0.130, 48),
            (0.84, 0.125, 72),
        ),
    },
    "sequential": {
        "light": ((0.965, 0.003, 90), (0.70, 0.100, 195), (0.38, 0.070, 225)),
        "dark": ((0.26, 0.006, 260), (0.56, 0.090, 215), (0.88, 0.100, 185)),
    },
}

_BLACK: Rgb = (0, 0, 0)
_WHITE: Rgb = (255, 255, 255)


def diverging(place: float, theme: Theme = "light") -> Rgb:
    """The colour of a place from −1 through the baseline, 0, to 1; beyond the ends, the ends'."""
    return _interpolate(_POINTS["diverging"][theme], (place + 1) / 2)


def sequential(place: float, theme: Theme = "light") -> Rgb:
    """The colour of a place from 0 to 1; beyond the ends, the ends'."""
    return _interpolate(_POINTS["sequential"][theme], place)


def text_on(background: Rgb) -> Rgb:
    """Black or white, whichever reads better on this colour: 4.5 to 1 or more on any."""
    return _BLACK if _luminance(background) > 0.179 else _WHITE


def mix(start: Rgb, end: Rgb, weight: float) -> Rgb:
    """A colour between two, for text that should recede; in sRGB, so not for maps."""
    red, green, blue = (round(a + (b - a) * weight) for a, b in zip(start, end, strict=True))
    return red, green, blue


def css(color: Rgb) -> str:
    """As `#rrggbb`."""
    return "#{:02x}{:02x}{:02x}".format(*color)


def colormap(kind: Kind = "diverging", theme: Theme = "light") -> Any:
    """One of the two as a matplotlib colormap."""
    from matplotlib.colors import ListedColormap

    points = _POINTS[kind][theme]
    colors = [css(_interpolate(points, step / 256)) for step in range(257)]
    return ListedColormap(colors, name=f"sonde-{kind}-{theme}")


def _interpolate(points: Sequence[_Lch], fraction: float) -> Rgb:
    place = min(max(fraction, 0.0), 1.0) * (len(points) - 1)
    index = min(int(place), len(points) - 2)
    start, end = list(pairwise(points))[index]
    weight = place - index
    mixed = [a + (b - a) * weight for a, b in zip(_lab(start), _lab(end), strict=True)]
    return _to_rgb((mixed[0], mixed[1], mixed[2]))


def _lab(point: _Lch) -> _Triple:
    lightness, chroma, hue = point
    angle = math.radians(hue)
    return lightness, chroma * math.cos(angle), chroma * math.sin(angle)


def _to_rgb(lab: _Triple) -> Rgb:
    lightness, a, b = lab
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _encoded(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short),
        _encoded(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short),
        _encoded(-0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short),
    )


def _encoded(linear: float) -> int:
    linear = min(max(linear, 0.0), 1.0)
    curved = 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
    return round(255 * curved)


def _luminance(color: Rgb) -> float:
    channels = (channel / 255 for channel in color)
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
