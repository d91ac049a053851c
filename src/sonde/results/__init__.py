"""What a finished sweep shows: numbers, pictures, pages. No torch; matplotlib only to draw."""

from sonde.results.provenance import Provenance
from sonde.results.sweep import ScoredSite, Sweep

__all__ = ["Provenance", "ScoredSite", "Sweep"]
