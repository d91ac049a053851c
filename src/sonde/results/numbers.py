"""How Sonde writes numbers, everywhere: terminal, page, picture.

Three significant digits, because a reader compares cells and does not copy them (`to_json` and
`to_csv` keep every bit), a proper minus sign, and units after a space.
"""

import math
from collections.abc import Sequence

MINUS = "\N{MINUS SIGN}"
MISSING = "\N{EM DASH}"
"""Stands for a number that is not there."""

_DIGITS = 3
_MAX_DECIMALS = 8


def number(value: float | None) -> str:
    """A number on its own, to three significant digits: 0.660, −5.21, 1,350, 1.20e−7."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.{_DIGITS - 1}e}".split("e")
        return _minus(f"{mantissa}e{int(exponent)}")
    return fixed(value, decimals_for(value))


def fixed(value: float | None, decimals: int) -> str:
    """A number beside others: all of them with the same decimals, so that they line up."""
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{value:,.{decimals}f}"
    return text.lstrip("-") if float(text.replace(",", "")) == 0 else _minus(text)


def signed(value: float | None, decimals: int) -> str:
    """A difference: always with its sign, except when it is nothing."""
    text = fixed(value, decimals)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def decimals_for(magnitude: float) -> int:
    """Decimals that show three significant digits of a number of this size."""
    if magnitude == 0 or not math.isfinite(magnitude):
        return _DIGITS - 1
    exponent = math.floor(math.log10(abs(magnitude)))
    return min(max(_DIGITS - 1 - exponent, 0), _MAX_DECIMALS)


def count(n: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun: 1 layer, 1,350 cells."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def span(values: Sequence[float], decimals: int) -> str:
    """From the least to the most, as differences: −0.50 to +0.25; of none, nothing to nothing."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return f"{signed(low, decimals)} to {signed(high, decimals)}"


def all_of(names: Sequence[str]) -> str:
    """Names in a sentence: 7, 15 and 21."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def duration(seconds: float) -> str:
    """A time: 7.1 ms, 0.71 s, 12.3 s, 2 min 05 s, 1 h 02 min."""
    if seconds < 0.01:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def size(n_bytes: float) -> str:
    """Memory: 512 B, 12.3 MiB."""
    if n_bytes < 1024:
        return f"{n_bytes:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        n_bytes /= 1024
        if n_bytes < 1024:
            return f"{n_bytes:.1f} {unit}"
    return f"{n_bytes / 1024:.1f} TiB"


def rate(per_second: float, noun: str) -> str:
    """A speed: 380 cells/s, 4.20 cells/s."""
    return f"{number(per_second)} {noun}/s"


def _minus(text: str) -> str:
    return text.replace("-", MINUS)
