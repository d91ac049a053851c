"""Replications: what the literature found in one model, asked of another, with a verdict.

found = sonde.replicate("agreement")             # or ioi, facts, or a pack of your own, FILE.toml
found.replication.answers[0].verdict             # as found, differs, unclear, not measured
found.save("agreement")                          # the page, and every table and picture

A pack is a file that says what is asked; nothing in it is computed here. `parts` runs what the
sweeps of every other study run, `measures` makes numbers with intervals of that, and the verdict
follows from those and the tolerance.
"""

from sonde.replication.conduct import Outcome, earlier, replicate
from sonde.replication.pack import PACKS, read_pack

__all__ = ["PACKS", "Outcome", "earlier", "read_pack", "replicate"]
