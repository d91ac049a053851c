"""One thread each, and the process's setting put back by the last to leave."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import torch

from sonde.backends.torch.threads import one_thread_each


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_operations_take_one_thread_inside_the_block() -> None:
    with one_thread_each():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


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
