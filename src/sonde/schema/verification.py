"""What exact runs say of first-order scores: how far a ranking by them can be trusted."""

from typing import Literal

from pydantic import Field

from sonde.schema.base import Whole, Wire

Gradient = Literal["atp", "eap-ig"]
"""Where a gradient is taken: `atp` at the prompt that is written to · `eap-ig` the mean over
`steps` points on the way from its embeddings to the other prompt's, itself the first of them."""


class VerifiedCell(Wire):
    """One cell that was scored both ways: how far it is from the baseline, in the metric's units.

    Over many pairs both are means, of `recovered` the ratio of means.
    """

    table: Whole
    at: list[Whole]
    """An index on each axis of its table, those of pairs and directions left out."""
    attributed: float
    """To first order."""
    exact: float
    """By running it."""
    sampled: bool
    """Drawn at random among the cells that attribution ranks lower; else one of its strongest."""


class AtK(Wire):
    """What is known of the k strongest cells."""

    k: int
    precision: float
    """Of the k that attribution ranks first, the share that are among the k strongest exact ones of
    all that were verified."""
    threshold: float
    """The distance from the baseline of the k-th of those."""
    stronger_in_sample: int
    """Cells of the random sample that are farther from the baseline than that."""
    missed_at_most: float | None
    """Of the cells that were not verified, the greatest share that may be farther than that, at
    95 % confidence (Clopper and Pearson, one-sided). Null without a random sample."""


class Verification(Wire):
    """First-order scores beside exact ones, for the strongest cells and for a random sample.

    Distances are without their sign, except in correlations and signs themselves.
    """

    gradient: Gradient
    steps: int
    """Points at which the gradient was taken."""
    cells: int
    """All that were attributed."""
    verified: int
    sampled: int
    seed: int
    spearman: float | None
    """Of all verified cells; null where there are fewer than three, or all have one value."""
    spearman_in_sample: float | None
    sign_agreement: float | None
    """Of the verified cells beyond the noise floor, the share whose sign attribution has right."""
    at: list[AtK]
    largest_miss: VerifiedCell | None
    """The strongest cell of the random sample: attribution did not rank it among the first."""
    largest_error: VerifiedCell | None
    """Where the two are farthest apart."""
    compared: list[VerifiedCell] = Field(default_factory=list)
    """All that were verified, those that attribution ranks first before the sample."""
