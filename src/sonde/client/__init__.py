"""Patching studies against a server, Sonde's or another of the same contract. No torch."""

from sonde.client.http import Refused
from sonde.client.result import CleanRun, SweepResult
from sonde.client.server import Server
from sonde.client.stream import SweepFailed
from sonde.client.study import PatchStudy
from sonde.client.sync import SyncPatchStudy
from sonde.client.vectors import pack_vectors
from sonde.prompts import Span

__all__ = [
    "CleanRun",
    "PatchStudy",
    "Refused",
    "Server",
    "Span",
    "SweepFailed",
    "SweepResult",
    "SyncPatchStudy",
    "pack_vectors",
]
