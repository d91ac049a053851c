"""Prompt pairs by the hundred: tasks that make them, files of one's own, and a check of both.

Templates and word lists are our own. A task's pairs follow from its name and a seed alone.
"""

from sonde.tasks.pairs import Pairs
from sonde.tasks.shipped import TASKS, pairs, task
from sonde.tasks.task import Task, Variant

__all__ = ["TASKS", "Pairs", "Task", "Variant", "pairs", "task"]
