"""One thread each, and the process's setting put back by the last to leave."""

import sys
import threading
from contextlib import ExitStack

import pytest
import torch

from sonde.backends.torch.cpu.threads import SWITCH_SECONDS, each_by_one_thread, one_thread_each

pytestmark = pytest.mark.usefixtures("three_threads")


def test_operations_take_one_thread_inside_the_block() -> None:
    with one_thread_each():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


def test_inside_the_block_nobody_waits_long_for_the_interpreter() -> None:
    before = sys.getswitchinterval()
    with one_thread_each():
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    assert sys.getswitchinterval() == before


def test_the_setting_comes_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), one_thread_each():
        raise ZeroDivisionError
    assert torch.get_num_threads() == 3


def test_two_at_once_do_not_leave_the_process_with_one_thread() -> None:
    """The first to enter leaves first, as two threads may."""
    first, second = ExitStack(), ExitStack()
    first.enter_context(one_thread_each())
    second.enter_context(one_thread_each())

    first.close()
    assert torch.get_num_threads() == 1
    second.close()
    assert torch.get_num_threads() == 3


def test_items_are_made_in_order_each_by_one_thread_without_gradients() -> None:
    def make(item: int) -> tuple[int, int, bool]:
        return 10 * item, torch.get_num_threads(), torch.is_inference_mode_enabled()

    made = each_by_one_thread(make, range(7), 2)

    assert made == [(10 * item, 1, True) for item in range(7)]
    assert torch.get_num_threads() == 3


def test_an_error_in_a_thread_is_the_callers() -> None:
    with pytest.raises(ZeroDivisionError):
        each_by_one_thread(lambda item: 1 // item, [1, 0], 2)
    assert torch.get_num_threads() == 3


def test_the_caller_is_one_of_the_threads() -> None:
    meeting = threading.Barrier(3, timeout=30)

    def make(_item: int) -> int:
        meeting.wait()  # three at a time, or nobody gets on
        return threading.get_ident()

    assert threading.get_ident() in each_by_one_thread(make, range(3), 3)
