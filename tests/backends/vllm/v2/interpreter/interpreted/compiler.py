"""A compiler that nobody calls."""

from typing import Any

from triton.backends.compiler import BaseBackend, GPUTarget  # type: ignore[import-not-found, unused-ignore]


class Interpreted(BaseBackend):  # type: ignore[misc]
    """Kernels are interpreted; being asked to compile one is a mistake in the environment."""

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """None."""
        return False

    def hash(self) -> str:
        """Of nothing."""
        return "interpreted"

    def parse_options(self, options: dict[str, Any]) -> object:
        """Not called."""
        raise NotImplementedError("set TRITON_INTERPRET=1")

    def add_stages(self, stages: dict[str, Any], options: object, language: Any) -> None:
        """Not called."""
        raise NotImplementedError("set TRITON_INTERPRET=1")

    def load_dialects(self, context: Any) -> None:
        """Not called."""
        raise NotImplementedError("set TRITON_INTERPRET=1")

    def get_module_map(self) -> dict[str, Any]:
        """Not called."""
        raise NotImplementedError("set TRITON_INTERPRET=1")
