"""What a sample says at most of the share it is from."""

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
