"""Sonde shows what a language model computes while it trains, and proves it by intervention.

Importing this package imports no torch; `load` does. It asks for reproducible products, through the
environment, because they have to be asked for before torch multiplies for the first time.
"""

from sonde.backends.torch.cpu.reproducible import ask as _ask
from sonde.course import Checkpoints, checkpoints
from sonde.model import Model, load
from sonde.prompts import PAIRS, Span
from sonde.replication import replicate
from sonde.results import Circuit, Sweep
from sonde.schema import HOOKS, LayerRange
from sonde.schema.table import FeatureAxis as Features
from sonde.tasks import Pairs, pairs

__all__ = [
    "HOOKS",
    "PAIRS",
    "Checkpoints",
    "Circuit",
    "Features",
    "LayerRange",
    "Model",
    "Pairs",
    "Span",
    "Sweep",
    "checkpoints",
    "load",
    "pairs",
    "replicate",
]
__version__ = "0.2.0"

_ask()
