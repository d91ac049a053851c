"""Studies: one file that says all, one directory that holds all, on one process or on many."""

from sonde.study.conduct import Outcome, conduct
from sonde.study.file import StudyFile, read_study

__all__ = ["Outcome", "StudyFile", "conduct", "read_study"]
