"""Files that are truncated and filled again, with the same beginning or with all of it.

One rule covers every case: what a listener has heard since its last `source` event is what the file
says now. A subscriber that is told nothing has missed nothing; one that missed something is
told, and gets the file from its start.
"""

import asyncio
import json
import os
import random
from pathlib import Path

import pytest

import sonde.runs.watched
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from tests.runs.ear import Ear
from tests.runs.trainer import Trainer

pytestmark = pytest.mark.anyio

FIRST = b'{"step":1,"token_index":0,"run":"the same first line as ever"}\n'


def made(numbers: range, seed: int) -> bytes:
    """Lines of one length, so that a byte that begins a line begins one after a refill too."""
    return b"".join(b'{"step":1,"token_index":%9d,"seed":%9d}\n' % (n, seed) for n in numbers)


async def test_04_a_run_started_again_in_place_is_told_and_sent_whole(
    trainer: Trainer, hub: Hub
) -> None:
    """900 to 931 of 1,200 records arrived, and nobody was told."""
    trainer.append(FIRST + made(range(1, 600), seed=1))
    ear = Ear(hub)
    await ear.hear()
    trainer.truncate()
    trainer.append(FIRST + made(range(1, 900), seed=2))  # longer, and every byte begins a line
    assert await ear.hear() == [*range(600), *range(900)]
    assert ear.sources == ["live", "the file was truncated or rewritten"]


async def test_04_a_run_that_says_the_same_again_is_sent_again_once_it_was_seen_to_be_short(
    trainer: Trainer, hub: Hub
) -> None:
    same = FIRST + made(range(1, 600), seed=1)
    trainer.append(same)
    ear = Ear(hub)
    await ear.hear()
    os.truncate(trainer.layout.live, len(FIRST))
    await ear.hear()  # a resume would rename it now
    with trainer.layout.live.open("ab") as file:
        file.write(same[len(FIRST) :])
    assert await ear.hear() == [*range(600), *range(600)]
    assert ear.sources == ["live", "the file was truncated or rewritten"]


async def test_04_who_comes_while_a_file_is_short_hears_all_of_it_in_a_moment(
    trainer: Trainer, hub: Hub
) -> None:
    """A resume could be moving it, so it is not read at once; then both are told without asking."""
    trainer.append(FIRST + made(range(1, 600), seed=1))
    before = Ear(hub)
    await before.hear()
    trainer.truncate()
    trainer.append(FIRST + made(range(1, 300), seed=2))
    after = Ear(hub)
    told = after.listener.run.news.told
    while not await after.hear():
        await asyncio.wait_for(after.listener.run.news.after(told), 60)
        told = after.listener.run.news.told
    assert after.numbers == list(range(300))
    assert await before.hear() == [*range(600), *range(300)]
    assert before.sources == ["live", "the file was truncated or rewritten"]


async def test_04_a_file_begun_anew_and_closed_before_anyone_looked_is_no_file_that_a_resume_cut(
    trainer: Trainer, hub: Hub
) -> None:
    """Its records would never be sent: neither to one who was past them, nor to a slower one."""
    trainer.begins_with, trainer.width = FIRST, 400
    trainer.write(3000)
    ear, slower = Ear(hub), Ear(hub)
    await ear.hear()
    while not slower.numbers:
        await slower.step()
    heard = slower.numbers
    assert len(heard) < 2500
    trainer.truncate()
    trainer.write(2500)
    trainer.rotate(7)
    trainer.write(1)
    assert await ear.hear() == [0, *range(3000), 0, *range(3000, 5500), 0, 5500]
    assert await slower.hear() == [*heard, 0, *range(3000, 5500), 0, 5500]
    for each in (ear, slower):
        assert each.sources[:2] == ["live", "the file was truncated or rewritten"]


@pytest.mark.parametrize("longer", [0, 300])
async def test_04_an_id_of_before_is_no_place_in_a_run_started_again(
    trainer: Trainer, hub: Hub, longer: int
) -> None:
    trainer.append(FIRST + made(range(1, 600), seed=1))
    ear = Ear(hub)
    await ear.hear()
    ids = [ear.listener.id, *ear.ids[1::97]]
    ear.leave()
    trainer.truncate()
    trainer.append(FIRST + made(range(1, 600 + longer), seed=2))
    for id in ids:
        again = Ear(hub, id)
        assert await again.hear() == list(range(600 + longer))
        assert again.sources == ["the file that was read before was replaced"]
        again.leave()


async def test_ids_of_before_there_were_checks_are_still_places(trainer: Trainer, hub: Hub) -> None:
    trainer.write(5)
    ear = Ear(hub)
    await ear.hear()
    for place, id in enumerate(ear.ids[1:], start=1):
        old = id.rpartition(".")[0]
        assert old.count(".") == 3
        again = Ear(hub, old)
        assert await again.hear() == list(range(place, 5))
        assert again.sources == ["live"]
        again.leave()


class History:
    """A live file that is written, truncated anywhere and filled again, and one who listens."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.trainer = Trainer(directory)
        self.hub = Hub(RunLayout(directory))
        self.ear: Ear | None = None
        self.id: str | None = None
        self.heard: list[dict[str, int]] = []
        """Since the last source event with a reason, or since the beginning."""
        self.told = 0
        self.first = FIRST if self.chance.random() < 0.8 else b""
        self.fillings = 1
        self.same = 0
        """How many lines every filling says alike; from there on each is its own."""

    @property
    def path(self) -> Path:
        return self.trainer.layout.live

    def fill(self) -> None:
        """Append: what other fillings said too, and then what none of them did."""
        count = self.chance.randint(1, 40)
        if not self.path.exists() or not self.path.stat().st_size:
            self.trainer.append(self.first)
            if self.chance.random() < 0.3:
                return
        at = (self.path.stat().st_size - len(self.first)) // len(made(range(1), 1))
        alike = min(at + count, max(at, self.same))
        self.trainer.append(made(range(at, alike), seed=1))
        self.trainer.append(made(range(alike, at + count), seed=self.fillings))

    def cut(self) -> None:
        """Truncate to any byte; half a line is taken away, as the next writer would."""
        if not self.path.exists():
            return
        size = self.path.stat().st_size
        whole = self.path.read_bytes()[: self.chance.choice([0, 0, self.chance.randint(0, size)])]
        os.truncate(self.path, whole.rfind(b"\n") + 1)
        self.fillings += 1
        self.same = self.chance.choice([0, self.chance.randint(0, 100), 10**9])

    async def listen(self) -> None:
        if self.ear is None:
            self.ear = Ear(self.hub, self.id or "active")
        await self.ear.hear()

    def leave(self) -> None:
        """Go, having heard all or not the last of it."""
        if self.ear is None:
            return
        self.take_note()
        lost = self.chance.choice([0, 0, self.chance.randint(0, len(self.ear.lines))])
        self.id = self.ear.listener.id
        if lost and len(self.ear.notices) == 1:
            self.id = self.ear.ids[len(self.ear.ids) - lost - 1]
            self.heard = self.heard[: len(self.heard) - lost]
        self.ear.leave()
        self.ear = None

    def take_note(self) -> None:
        assert self.ear is not None
        sources = [data for event, data in self.ear.notices if event == "source"]
        told = [data for data in sources if "reason" in data]
        if told:
            where = self.ear.place_of_last_source
            self.heard = self.ear.lines[where:]
        else:
            self.heard += self.ear.lines[self.ear.noted :]
            self.ear.noted = len(self.ear.lines)

    async def check(self) -> None:
        await self.listen()
        await self.listen()
        assert self.ear is not None
        self.take_note()
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        assert self.heard == [json.loads(line) for line in lines]

    async def close(self) -> None:
        if self.ear is not None:
            self.ear.leave()
        await self.hub.close()


async def tried(directory: Path, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in seeds:
        history = History(directory / str(seed), seed)
        steps = {"fill": 4, "cut": 2, "listen": 3, "leave": 1, "check": 1}
        names = history.chance.choices(list(steps), list(steps.values()), k=14)
        for name in [*names, "check"]:
            # Renamed or not: a check knows, so it need not wait for a resume to be over.
            patience = 0.0 if name == "check" else history.chance.choice([0.0, 60.0])
            monkeypatch.setattr(sonde.runs.watched, "CUT_SECONDS", patience)
            if name in ("listen", "check"):
                await getattr(history, name)()
            else:
                getattr(history, name)()
        await history.close()


async def test_04_truncations_and_refills_at_random_are_missed_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tried(tmp_path, range(1000), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(1, 5))
async def test_04_thousands_of_truncations_and_refills_are_missed_by_nobody(
    tmp_path: Path, thousand: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts, each of which ends in time on a machine that does much else."""
    await tried(tmp_path, range(1000 * thousand, 1000 * (thousand + 1)), monkeypatch)


@pytest.mark.parametrize("refilled", [0, 1, 2, 20, 59, 60, 61, 100])
async def test_04_every_prefix_of_a_truncation_and_refill(
    tmp_path: Path, refilled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut after any line, filled again to any length, heard by one who stays and one who left."""
    monkeypatch.setattr(sonde.runs.watched, "CUT_SECONDS", 0.0)
    before = FIRST + made(range(1, 60), seed=1)
    cuts = [0, *(place + 1 for place, byte in enumerate(before) if byte == 10)]
    for cut in cuts:
        trainer, hub = Trainer(tmp_path / str(cut)), Hub(RunLayout(tmp_path / str(cut)))
        trainer.append(before)
        ear = Ear(hub)
        await ear.hear()
        os.truncate(trainer.layout.live, cut)
        kept = before[:cut] or FIRST
        if refilled:
            after = kept + made(range(kept.count(b"\n"), kept.count(b"\n") + refilled), seed=2)
            trainer.append(after[cut:])
        await ear.hear()
        now = trainer.layout.live.read_bytes()
        lines = [json.loads(line)["token_index"] for line in now.splitlines()]
        changed = now[: len(before)] != before
        # Cut to nothing and not filled again, there is nothing to tell of yet.
        assert ear.numbers == list(range(60)) + (lines if changed else lines[60:])
        again = Ear(hub, ear.ids[-1] if not changed else ear.ids[60])
        if changed and now:
            assert await again.hear() == lines
        again.leave()
        ear.leave()
        await hub.close()
