"""Several requests at once."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from sonde.client.together import together


class Work:
    """Jobs that note how many of them are under way."""

    def __init__(self) -> None:
        self.under_way, self.most, self.ended = 0, 0, 0

    def job(self, number: int, *, fails: bool = False) -> Callable[[], Awaitable[int]]:
        async def run() -> int:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            try:
                for _ in range(3 if not fails else 1):
                    await asyncio.sleep(0)
                if fails:
                    raise ValueError(f"job {number}")
                return number
            finally:
                self.under_way -= 1
                self.ended += 1

        return run


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_results_are_in_order_and_so_many_run_at_once(at_once: int) -> None:
    work = Work()
    found = asyncio.run(together([work.job(n) for n in range(10)], at_once))
    assert found == list(range(10))
    assert work.most == min(at_once, 10)


def test_the_first_failure_stops_the_rest_and_is_raised_as_it_is() -> None:
    work = Work()
    jobs = [work.job(n, fails=n == 2) for n in range(1000)]
    with pytest.raises(ValueError, match="job 2"):
        asyncio.run(together(jobs, 4))
    assert work.under_way == 0
    assert work.ended < 10


def test_nothing_to_do_is_done() -> None:
    assert asyncio.run(together([], 4)) == []
