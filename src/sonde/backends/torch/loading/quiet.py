"""Load a model without the bars and log lines of the libraries that load it.

Their switches are process-wide and have no scoped form, so this turns them off, and afterwards puts
back exactly what it found. Loads in several threads take turns: interleaved, the last one to leave
would put back another's silence. Errors are still logged; warnings raised through Python's
`warnings` are not touched.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.utils import logging as hub_logging
from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars
from transformers.utils import logging as transformers_logging

_one_at_a_time = threading.Lock()


@contextmanager
def quiet() -> Iterator[None]:
    """No bars and nothing below an error from transformers and huggingface_hub in the block."""
    with _one_at_a_time, _no_bars(), _errors_only():
        yield


@contextmanager
def _no_bars() -> Iterator[None]:
    bars = transformers_logging.is_progress_bar_enabled()
    hub_bars = not are_progress_bars_disabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if bars:
            transformers_logging.enable_progress_bar()  # also turns the hub's on
        if bars and not hub_bars:
            disable_progress_bars()


@contextmanager
def _errors_only() -> Iterator[None]:
    verbosity, hub_verbosity = transformers_logging.get_verbosity(), hub_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    hub_logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        hub_logging.set_verbosity(hub_verbosity)
