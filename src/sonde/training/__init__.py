"""Training that shows its features: the sidecar callback, GRPO on TRL, presets and rewards.

Imported on demand: `sonde whoami` asks for a worktree's role and must not wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sonde.training.sidecar import SidecarCallback

__all__ = ["SidecarCallback"]


def __getattr__(name: str) -> Any:
    if name == "SidecarCallback":
        return import_module("sonde.training.sidecar").SidecarCallback
    raise AttributeError(f"module 'sonde.training' has no attribute {name!r}")
