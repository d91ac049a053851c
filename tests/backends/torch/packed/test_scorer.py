"""Work is scored window by window; what a window needs is made once (see also `test_joint`).

The rough bound of a chunk covers the measured peak (see also `test_memory`), and the collector is
put off inside the block, and as it was when the last one has left.
"""

import gc
from functools import partial
from threading import Barrier, Thread

import pytest

from sonde.backends.base import Row
from sonde.backends.torch.packed import scoring
from sonde.backends.torch.packed.scorer import (
    peak_of_chunk,
    put_off,
    rough_bytes,
    source_bytes,
)
from tests.architectures import WIDTH
from tests.backends.torch.tiny import asked, from_vector, prompt, sites, tiny_backend, vector


def test_one_that_cannot_be_joined_is_scored_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend()
    windows: list[int] = []
    compare = scoring.compare

    def counted(window: scoring.Window, *rest: object) -> object:
        windows.append(len(window.prompts))
        return compare(window, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(scoring, "compare", counted)
    work = [asked(prompt(9, seed), [Row(computed=True)]) for seed in range(3)]
    list(backend.score(work))

    assert windows == [3]


def test_the_rate_is_learnt_from_what_was_computed() -> None:
    backend = tiny_backend()
    before = backend._scorer._rate
    rows = from_vector(vector(32), sites(backend, 37))
    list(backend.score([asked(prompt(37, 1), rows)]))

    assert backend._scorer._rate != before


def test_the_cost_of_several_prompts_is_their_sum() -> None:
    backend = tiny_backend()
    work = [asked(prompt(9, seed), from_vector(vector(0), sites(backend, 9))) for seed in (1, 2)]
    one, both = backend.cost(work[:1]), backend.cost(work)

    assert both.computed_rows == 2 * one.computed_rows
    assert both.token_layers == 2 * one.token_layers


def test_more_cells_take_more_and_the_rough_bound_covers_them() -> None:
    backend = tiny_backend()
    window, _ = backend._scorer._begin([(0, asked(prompt(20, 1), []))], read=False)
    peak = partial(peak_of_chunk, backend._path, window.prompts[0], backend._scorer._read)

    few, many = peak(8, 0), peak(32, 0)

    assert few < many < 32 * 20 * rough_bytes(backend._path, window.trace)
    assert peak(32, 19) < many  # shorter suffixes
    assert source_bytes(backend._model) == 6 * 4 * WIDTH


def test_layers_that_keep_more_than_their_weights_tell_have_no_rough_bound() -> None:
    backend = tiny_backend("mamba")
    window, _ = backend._scorer._begin([(0, asked(prompt(9, 1), []))], read=False)

    assert rough_bytes(backend._path, window.trace) == float("inf")


def test_the_collector_is_off_inside_and_on_again_after() -> None:
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


def test_the_last_of_several_threads_puts_the_collector_back() -> None:
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
