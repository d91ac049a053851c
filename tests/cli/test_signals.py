"""Signals of a command: the first decides the status, further ones change nothing."""

import signal
import threading

import pytest

from sonde.cli.signals import ignore_signals, leave_on_signals


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_the_first_signal_ends_the_program_and_the_next_are_not_heard(
    number: signal.Signals, status: int
) -> None:
    leave_on_signals()
    with pytest.raises(SystemExit) as ended:
        signal.raise_signal(number)
    assert ended.value.code == status
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)


def test_another_thread_changes_nothing() -> None:
    before = signal.getsignal(signal.SIGINT)
    for change in (leave_on_signals, ignore_signals):
        thread = threading.Thread(target=change)
        thread.start()
        thread.join()
    assert signal.getsignal(signal.SIGINT) is before
