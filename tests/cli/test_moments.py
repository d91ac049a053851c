"""Which moments of a run are asked about."""

from sonde.cli import moments
from sonde.cli.moments import TRIED
from sonde.results.ablations import render_ablations


def test_a_few_of_the_best_are_looked_at_and_many_are_known() -> None:
    """What is chosen on a run is tested with the command, in `test_ablate`."""
    assert TRIED < moments.LOOKED_AT
    assert render_ablations.__doc__
