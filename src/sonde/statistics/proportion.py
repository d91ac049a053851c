"""What a sample says of the share it is from."""

import math

from sonde.errors import BadRequest


def most_of(seen: int, n: int, level: float = 0.95) -> float:
    """The greatest share that `seen` of `n` speak for: Clopper's and Pearson's upper bound.

    One-sided: a true share above it gives so few, or fewer, in at most 1 − level of all samples.
    """
    if not 0 <= seen <= n or n < 1:
        raise BadRequest(f"{seen} of {n} is no share; give 0 to {max(n, 1)} of {max(n, 1)} or more")
    if not 0 < level < 1:
        raise BadRequest(f"level is {level}; give one between 0 and 1, such as 0.95")
    if seen == n:
        return 1.0
    from scipy.special import betaincinv

    return float(betaincinv(seen + 1, n - seen, level))


def interval_of(seen: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Where the share lies that `seen` of `n` speak for: Wilson's, which has a width for all, too.

    The bootstrap's has none where no trial differs from another.
    """
    if not 0 <= seen <= n or n < 1:
        raise BadRequest(f"{seen} of {n} is no share; give 0 to {max(n, 1)} of {max(n, 1)} or more")
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    middle = (seen + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * math.sqrt(seen * (n - seen) / n + z * z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)
