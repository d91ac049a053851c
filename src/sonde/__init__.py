"""Sonde shows what a language model computes while it trains, and proves it by intervention.

Importing this package imports no torch; `load` does.
"""

from sonde.model import Model, load
from sonde.prompts import PAIRS, Span
from sonde.results import Sweep
from sonde.schema import HOOKS, LayerRange

__all__ = ["HOOKS", "PAIRS", "LayerRange", "Model", "Span", "Sweep", "load"]
__version__ = "0.1.0"
