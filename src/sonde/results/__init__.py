"""What a finished sweep shows: numbers, pictures, pages. No torch; matplotlib only to draw."""

from sonde.results.attention import Attention
from sonde.results.cells import ScoredSite
from sonde.results.circuit import Circuit
from sonde.results.course import CheckpointSweep
from sonde.results.edges import Edge, SenderEffect
from sonde.results.pairs import PairSweep, result_of
from sonde.results.provenance import Provenance
from sonde.results.reward import RewardSweep
from sonde.results.sweep import Sweep

__all__ = [
    "Attention",
    "CheckpointSweep",
    "Circuit",
    "Edge",
    "PairSweep",
    "Provenance",
    "RewardSweep",
    "ScoredSite",
    "SenderEffect",
    "Sweep",
    "result_of",
]
