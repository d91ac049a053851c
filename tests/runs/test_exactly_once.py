"""Any order of things that can happen to files, listeners and gateways: each record once, in order.

A model keeps, for every listener, which records it can still get: what is cut away, replaced or set
aside before a listener has read it is gone for that listener, and everything else has to arrive.
What its gateway read for somebody else before it was gone may arrive all the same.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import sonde.runs.watched
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from tests.runs.ear import Ear
from tests.runs.trainer import Trainer

T = TypeVar("T")


class Person:
    """Somebody who wants all records, over any number of connections."""

    def __init__(self) -> None:
        self.got: list[int] = []
        self.lost: set[int] = set()
        self.perhaps: set[int] = set()
        """Of the lost ones, those that the gateway read before they were gone."""
        self.only_open: set[int] = set()
        """Records of files that have no name any more: they go with the connection."""
        self.id: str | None = None
        self.ear: Ear | None = None

    def note(self) -> None:
        if self.ear is not None:
            self.got += self.ear.numbers
            self.ear.lines.clear()

    def in_live(self, path: Path) -> bool:
        """Whether it has the live file open."""
        file = self.ear.listener.records.file if self.ear else None
        return file is not None and file.identity[1] == path.stat().st_ino


class Everything(RuleBasedStateMachine):
    """Writers that tear, rotate, truncate, crash and resume; listeners that come and go."""

    people = Bundle("people")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.root = Path(tempfile.mkdtemp())
        self.trainer = Trainer(self.root / "run")
        self.hubs = [Hub(RunLayout(self.root / "run")) for _ in range(2)]
        self.heard: list[set[int]] = [set() for _ in self.hubs]
        """What each gateway has told anybody."""
        self.everyone: list[Person] = []
        self.live: list[int] = []
        self.destroyed: set[int] = set()
        self.step = 0

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    # What the trainer does

    @rule(count=st.integers(1, 400))
    def write(self, count: int) -> None:
        first = self.trainer.written
        self.trainer.write(count)
        self.live += range(first, self.trainer.written)

    @precondition(lambda self: not self.trainer.torn)
    @rule(share=st.floats(0, 1))
    def tear(self, share: float) -> None:
        self.trainer.tear(share)

    @precondition(lambda self: self.trainer.torn)
    @rule(crashes=st.booleans())
    def mend_or_crash(self, crashes: bool) -> None:
        if crashes:
            self.trainer.crash()
            return
        self.live.append(self.trainer.written)
        self.trainer.mend()

    @precondition(lambda self: self.live and not self.trainer.torn)
    @rule()
    def rotate(self) -> None:
        self.step += 7
        self.trainer.rotate(self.step)
        self.live = []

    def gone(self, *, spares_readers: bool) -> None:
        """The records of the live file are gone for those who have not read them."""
        for person in self.everyone:
            person.note()
            unread = set(self.live) - set(person.got)
            if spares_readers and person.in_live(self.trainer.layout.live):
                person.only_open |= unread
            else:
                person.lost |= unread
                person.perhaps |= unread & self._heard_by_gateway_of(person)
        self.destroyed |= set(self.live)
        self.live = []

    def _heard_by_gateway_of(self, person: Person) -> set[int]:
        if person.ear is None:
            return set()
        return self.heard[self.hubs.index(person.ear.listener._hub)]

    @precondition(lambda self: self.live)
    @rule(count=st.integers(0, 500))
    def truncate(self, count: int) -> None:
        self.gone(spares_readers=False)
        self.trainer.truncate()
        if count:
            self.write(count)

    @precondition(lambda self: self.live)
    @rule(count=st.integers(1, 50))
    def replace(self, count: int) -> None:
        self.gone(spares_readers=True)
        first = self.trainer.written
        self.trainer.replace(count)
        self.live += range(first, self.trainer.written)

    @precondition(lambda self: self.live)
    @rule()
    def delete(self) -> None:
        self.gone(spares_readers=True)
        self.trainer.layout.live.unlink()
        self.trainer._rest = b""

    @precondition(lambda self: self.live and not self.trainer.torn)
    @rule()
    def resume_from_the_last_checkpoint(self) -> None:
        self.gone(spares_readers=False)
        layout = self.trainer.layout
        layout.segments.mkdir(exist_ok=True)
        number = len(list(layout.segments.glob("abandoned-*")))
        layout.live.rename(layout.abandoned(self.step, number))

    # What listeners do

    @rule(target=people)
    def arrive(self) -> Person:
        person = Person()
        person.lost = set(self.destroyed)
        self.everyone.append(person)
        return person

    @rule(person=people, which=st.integers(0, 1))
    def connect(self, person: Person, which: int) -> None:
        async def connected() -> None:
            if person.ear is None:
                person.ear = Ear(self.hubs[which], person.id or "start")

        self.do(connected())

    @rule(person=people, blocks=st.integers(1, 5))
    def hear_a_little(self, person: Person, blocks: int) -> None:
        async def hear() -> None:
            assert person.ear is not None
            person.ear.listener.run.look()
            for _ in range(blocks):
                await person.ear.step()
            self._heard_by_gateway_of(person).update(person.ear.numbers)

        if person.ear is not None:
            self.do(hear())

    @rule(person=people)
    def hear_all(self, person: Person) -> None:
        if person.ear is not None:
            self.do(person.ear.hear())
            self._heard_by_gateway_of(person).update(person.ear.numbers)

    @rule(person=people, stale=st.integers(0, 30))
    def disconnect(self, person: Person, stale: int) -> None:
        """The connection breaks; the last events may never have arrived."""
        ear = person.ear
        if ear is None:
            return
        events = len(ear.ids) - len(ear.notices)
        lost = min(stale, events, len(ear.numbers))
        if lost and ear.ids[-1] == ear.listener.id and not ear.notices[1:]:
            ear.ids = ear.ids[: len(ear.ids) - lost]
            ear.lines = ear.lines[: len(ear.lines) - lost]
            person.id = ear.ids[-1] if ear.ids else person.id
        else:
            person.id = ear.listener.id
        person.note()
        person.lost |= person.only_open - set(person.got)
        person.only_open.clear()
        self.do(self._leave(ear))
        person.ear = None

    async def _leave(self, ear: Ear) -> None:
        ear.leave()

    @rule(which=st.integers(0, 1))
    def kill_a_gateway(self, which: int) -> None:
        """All its listeners lose their connection; a new one starts."""
        hub = self.hubs[which]
        for person in self.everyone:
            if person.ear is not None and person.ear.listener._hub is hub:
                self.disconnect(person, 0)
        self.do(hub.close())
        self.hubs[which] = Hub(RunLayout(self.root / "run"))
        self.heard[which] = set()

    @rule()
    def time_passes(self) -> None:
        """Enough to know that a file which lost its end is not one that a resume is moving."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sonde.runs.watched, "CUT_SECONDS", 0.0)
            self.do(self._look())

    async def _look(self) -> None:
        for hub in self.hubs:
            for run in hub.listeners:
                run.look()

    @invariant()
    def nothing_is_repeated_or_out_of_order(self) -> None:
        for person in self.everyone:
            heard = person.got + (person.ear.numbers if person.ear else [])
            assert heard == sorted(set(heard))

    def teardown(self) -> None:
        try:
            self.trainer.crash()
            for person in self.everyone:
                self.connect(person, 0)
                self.time_passes()
                self.hear_all(person)
                self.disconnect(person, 0)
                wanted = [n for n in range(self.trainer.written) if n not in person.lost]
                assert [n for n in person.got if n not in person.perhaps] == wanted
        finally:
            for hub in self.hubs:
                self.do(hub.close())
            self.loop.close()
            shutil.rmtree(self.root)


class EverythingAlike(Everything):
    """The same with files that all have one first line, and lines of one length in each."""

    def __init__(self) -> None:
        super().__init__()
        self.trainer.begins_with = b'{"run": "started again in place, with the same seed"}\n'
        self.trainer.width = 400


def tried(kind: type[Everything], examples: int, steps: int) -> None:
    """Try so many histories of so many steps."""
    chosen = settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    run_state_machine_as_test(kind, settings=chosen)


@pytest.mark.parametrize("kind", [Everything, EverythingAlike])
def test_whatever_happens_each_record_arrives_once_and_in_order(kind: type[Everything]) -> None:
    tried(kind, 40, 30)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize("kind", [Everything, EverythingAlike])
def test_whatever_happens_often_and_for_long_each_record_arrives_once_and_in_order(
    kind: type[Everything], part: int
) -> None:
    """In parts, each of which ends in time on a machine that does much else."""
    tried(kind, 100, 60)
