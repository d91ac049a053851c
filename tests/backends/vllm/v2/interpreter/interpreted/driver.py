"""A driver that is never active."""

from typing import Any

from triton.backends.driver import DriverBase  # type: ignore[import-not-found, unused-ignore]


class InterpretedDriver(DriverBase):  # type: ignore[misc]
    """vLLM counts it as present; Triton, which asks whether it is active, does not take it."""

    @classmethod
    def is_active(cls) -> bool:
        """Never: interpreted kernels need no driver."""
        return False

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Not called."""
        raise NotImplementedError("set TRITON_INTERPRET=1")

    def get_current_target(self) -> Any:
        """Not called."""
        raise NotImplementedError("set TRITON_INTERPRET=1")

    def get_active_torch_device(self) -> Any:
        """Not called."""
        raise NotImplementedError("set TRITON_INTERPRET=1")

    def get_benchmarker(self) -> Any:
        """Not called."""
        raise NotImplementedError("set TRITON_INTERPRET=1")
