"""Files beside the records that a resume has cut and filled again: nobody misses a line of them."""

import os

import pytest

from sonde.runs import rotation
from sonde.runs.hub import Hub
from tests.runs.ear import Ear
from tests.runs.trainer import Trainer

pytestmark = pytest.mark.anyio


def resumed_metrics(trainer: Trainer, first: int, last: int, resumed_from: int) -> None:
    """Write steps, and, as a resume does, set later ones aside and write others since."""
    path = trainer.layout.metrics
    path.write_bytes(b"".join(b'{"iteration":%d}\n' % step for step in range(1, first + 1)))
    rotation.resume(trainer.layout, resumed_from)
    with path.open("ab") as file:
        for step in range(resumed_from + 1, last + 1):
            file.write(b'{"iteration":%d,"again":true}\n' % step)


@pytest.mark.parametrize("last", [5, 9, 40])
@pytest.mark.parametrize("heard", [0, 3, 8])
async def test_04_one_who_comes_back_to_a_companion_that_was_cut_gets_what_was_written_since(
    trainer: Trainer, hub: Hub, last: int, heard: int
) -> None:
    trainer.write(1)
    path = trainer.layout.metrics
    path.write_bytes(b"".join(b'{"iteration":%d}\n' % step for step in range(1, 9)))
    ear = Ear(hub, include=("metrics",))
    await ear.hear()
    id = next(id for id, n in zip(ear.ids[1:], range(9), strict=True) if n == heard)
    ear.leave()
    resumed_metrics(trainer, 8, last, resumed_from=4)
    again = Ear(hub, id, include=("metrics",))
    await again.hear()
    again.leave()
    kept = list(range(heard + 1, 5))
    assert [line["iteration"] for line in again.lines if "iteration" in line] == [
        *kept,
        *range(5, last + 1),
    ]


async def test_04_one_who_did_not_read_while_a_companion_was_cut_and_filled_again_misses_nothing(
    trainer: Trainer, hub: Hub
) -> None:
    trainer.write(1)
    path = trainer.layout.metrics
    path.write_bytes(b"".join(b'{"iteration":%d}\n' % step for step in range(1, 9)))
    ear = Ear(hub, include=("metrics",))
    await ear.hear()
    os.truncate(path, 4 * len(b'{"iteration":1}\n'))
    ear.listener.run.look()  # the gateway sees it; this listener is busy sending
    with path.open("ab") as file:
        file.write(b"".join(b'{"iteration":%d,"again":true}\n' % step for step in range(5, 30)))
    await ear.hear()
    steps = [line["iteration"] for line in ear.lines if "iteration" in line]
    assert steps == [*range(1, 9), *range(5, 30)]
