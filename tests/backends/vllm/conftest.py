"""Where vLLM is not installed, files whose tests need it are left out, without a word."""

from importlib.util import find_spec
from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what carries the marker; None lets pytest decide about the rest."""
    if find_spec("vllm") is not None or not collection_path.name.startswith("test_"):
        return None
    return True if "pytest.mark.vllm" in collection_path.read_text() else None
