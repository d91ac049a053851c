"""Sweeps, metrics and controls: written once, over any backend."""

from sonde.engine.estimate import estimate
from sonde.engine.plan import Limits
from sonde.engine.sweep import sweep
from sonde.engine.vectors import NamedVectors, VectorModule

__all__ = ["Limits", "NamedVectors", "VectorModule", "estimate", "sweep"]
