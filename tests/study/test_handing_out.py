"""`sonde.study.handing_out`: pairs of a worker that dies are computed by another, so often."""

from collections import deque
from collections.abc import Sequence
from pathlib import Path

import pytest

from sonde.errors import EngineError, WorkersLost
from sonde.study.handing_out import Finished, HandingOut, Lost, Ready
from sonde.study.worker import Begun, Worker, number_of
from tests.study.tiny_study import tiny_study


class InTurn:
    """Workers of one process, which compute when they are heard; some die when told to."""

    def __init__(self, worker: Worker, dies: dict[int, int] | None = None) -> None:
        self.worker = worker
        self.dies = dies or {}
        """Pair -> how many of those who are given it die."""
        self.todo: deque[tuple[int, Sequence[int] | None]] = deque()
        self.given: list[tuple[int, Sequence[int]]] = []
        self.begun = worker.begin()

    def start(self, worker: int) -> None:
        self.todo.append((worker, None))

    def give(self, worker: int, numbers: Sequence[int]) -> None:
        self.given.append((worker, numbers))
        self.todo.append((worker, numbers))

    def hear(self) -> Ready | Finished | Lost:
        worker, numbers = self.todo.popleft()
        if numbers is None:
            return self.ready(worker)
        for number in numbers:
            if self.dies.get(number, 0) > 0:
                self.dies[number] -= 1
                return Lost(worker, f"worker {worker + 1}", "it was killed")
        return Finished(worker, list(self.worker.run(numbers)))

    def ready(self, worker: int) -> Ready | Lost:
        return Ready(worker, self.begun)


class Stillborn(InTurn):
    def ready(self, worker: int) -> Lost:
        return Lost(worker, f"worker {worker + 1} (process 7)", "no memory")


class Strange(InTurn):
    def ready(self, worker: int) -> Ready:
        model = self.begun.model.model_copy(update={"weights": f"of {worker}"})
        return Ready(
            worker, Begun(model, *(v for k, v in vars(self.begun).items() if k != "model"))
        )


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    study = tiny_study(tmp_path)
    return Worker(study.model, study.request(study.pairs()))


BATCHES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


def test_what_two_workers_compute_has_the_bits_of_one(worker: Worker) -> None:
    alone = {number_of(event): event for event in worker.run(range(12))}
    hands = InTurn(worker, {4: 1, 6: 2})
    out = HandingOut(hands, 2)
    assert out.first() == hands.begun
    events = list(out.run(BATCHES))
    assert {number_of(event): event for event in events} == alone
    assert len(events) == 12
    assert len(out.lost) == 3
    assert len(hands.given) == len(BATCHES) + 3
    assert {worker for worker, _ in hands.given} == {0, 1}


def test_pairs_that_kill_their_worker_are_given_up(worker: Worker) -> None:
    out = HandingOut(InTurn(worker, {4: 9}), 2)
    with pytest.raises(WorkersLost, match=r"pairs 3 to 5 were given to 3 workers.*worker \d: it"):
        list(out.run(BATCHES))


def test_a_place_where_nothing_lives_is_given_up_by_name(worker: Worker) -> None:
    with pytest.raises(WorkersLost, match=r"worker 1 \(process 7\) died while it loaded, as 2"):
        HandingOut(Stillborn(worker), 1).first()


def test_workers_with_other_weights_do_not_work_together(worker: Worker) -> None:
    with pytest.raises(EngineError, match="different weights, of 0 and of 1"):
        list(HandingOut(Strange(worker), 2).run(BATCHES))
