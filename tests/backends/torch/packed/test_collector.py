"""The collector is put off inside the block, and as it was when the last one has left."""

import gc
from threading import Barrier, Thread

from sonde.backends.torch.packed.collector import put_off


def test_it_is_off_inside_and_on_again_after() -> None:
    assert gc.isenabled()
    with put_off():
        assert not gc.isenabled()
        with put_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with put_off():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_last_of_several_threads_puts_it_back() -> None:
    both, seen = Barrier(2), list[bool]()

    def inside() -> None:
        with put_off():
            both.wait()
            seen.append(gc.isenabled())
            both.wait()

    threads = [Thread(target=inside) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [False, False]
    assert gc.isenabled()


def test_an_error_leaves_it_as_it_was() -> None:
    try:
        with put_off():
            raise ValueError
    except ValueError:
        assert gc.isenabled()
