"""What many trials say of each cell: intervals, tests, stability. Arrays in, numbers out.

Nothing here knows of models or files. A missing number is None with a reason, never NaN.
"""

from sonde.statistics.effects import Effects, effects
from sonde.statistics.proportion import most_of
from sonde.statistics.stability import Stability, stability

__all__ = ["Effects", "Stability", "effects", "most_of", "stability"]
