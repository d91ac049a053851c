import pytest
from huggingface_hub.utils import logging as hub_logging
from huggingface_hub.utils.tqdm import (
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
)
from transformers.utils import logging

from sonde.backends.torch.loading.quiet import quiet


def switches() -> tuple[object, ...]:
    return (
        logging.is_progress_bar_enabled(),
        are_progress_bars_disabled(),
        logging.get_verbosity(),
        hub_logging.get_verbosity(),
    )


def test_bars_and_warnings_are_off_inside_and_back_after() -> None:
    before = switches()
    with quiet():
        assert switches() == (False, True, logging.ERROR, logging.ERROR)
    assert switches() == before
    assert before[0] is True


def test_what_a_user_switched_off_stays_off() -> None:
    disable_progress_bars()
    try:
        before = switches()
        with quiet():
            pass
        assert switches() == before
    finally:
        enable_progress_bars()


def test_an_error_inside_puts_everything_back() -> None:
    before = switches()
    with pytest.raises(KeyError), quiet():
        raise KeyError
    assert switches() == before
