"""The stream over HTTP: the contract's events, parameters and headers."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sonde.runs import hub
from tests.local import LOCAL
from tests.runs.trainer import Trainer
from tests.server.listening import STREAM, Event, Page, gateway, parsed


@pytest.fixture
def url(trainer: Trainer) -> Iterator[str]:
    with gateway(trainer.layout.directory) as url:
        yield url


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway over an empty directory, for all tests that get nothing from it."""
    with gateway(tmp_path_factory.mktemp("run")) as url:
        yield url


def read(url: str, query: str = "", **headers: str) -> list[Event]:
    """What is there now, by `follow=0`."""
    answer = httpx.get(f"{url}{STREAM}?follow=0&{query}", headers=headers, **LOCAL)
    assert answer.status_code == 200, answer.text
    found = parsed(iter(answer.text.split("\n")))
    return [event for event in found if isinstance(event, Event)]


def numbers(events: list[Event]) -> list[int]:
    return [event.data["token_index"] for event in events if event.name == "message"]


def test_it_replays_the_live_file_then_follows(trainer: Trainer, url: str) -> None:
    trainer.write(3)
    with Page(url) as page:
        page.has(3)
        trainer.write(2)
        page.has(5)
    assert page.numbers == [0, 1, 2, 3, 4]
    assert page.events[0].name == "source"
    assert page.events[0].data == {"source": "live", "path": str(trainer.layout.live)}
    assert all(event.id for event in page.events)
    assert page.events[1].data == json.loads(trainer.line(0))


def test_its_headers_are_the_contracts(trainer: Trainer, url: str) -> None:
    trainer.write(1)
    answer = httpx.get(f"{url}{STREAM}?follow=0", **LOCAL)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"


def test_before_there_is_anything_it_is_idle_and_beats(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "WATCH_SECONDS", 0.05)  # how often it is looked what is due
    with gateway(trainer.layout.directory, heartbeat_seconds=0.1) as url, Page(url) as page:
        page.until(lambda page: page.named("idle") and page.named("heartbeat"))
        trainer.write(1)
        page.has(1)
    assert page.named("idle")[0].keys() == {"reason"}
    assert page.named("heartbeat")[0] == {}
    assert [event.name for event in page.events].index("source") > 0


def test_last_event_id_wins_over_from_and_goes_on_exactly_there(trainer: Trainer, url: str) -> None:
    trainer.write(4)
    trainer.rotate(50)
    trainer.write(4)
    for event in read(url, "from=start"):
        if event.name == "message":
            again = read(url, "from=start", **{"Last-Event-ID": str(event.id)})
            assert numbers(again) == list(range(event.data["token_index"] + 1, 8))
            assert numbers(read(url, f"from={event.id}")) == numbers(again)


def test_a_last_event_id_of_something_else_begins_again(trainer: Trainer, url: str) -> None:
    trainer.write(2)
    found = read(url, **{"Last-Event-ID": "17"})
    assert numbers(found) == [0, 1]
    (source,) = (event.data for event in found if event.name == "source")
    assert source["source"] == "live"
    assert source["reason"] == "Last-Event-ID '17' is no id of this stream: begun again"


def test_from_says_where_to_begin(trainer: Trainer, url: str) -> None:
    trainer.write(2)
    trainer.rotate(50)
    trainer.write(2)
    assert numbers(read(url)) == [2, 3]
    assert numbers(read(url, "from=start")) == [0, 1, 2, 3]
    assert numbers(read(url, "from=live")) == []


def test_only_the_layers_asked_for(trainer: Trainer, url: str) -> None:
    trainer.write(6)
    assert numbers(read(url, "layers=15")) == [1, 3, 5]
    assert numbers(read(url, "layers=15,0")) == [0, 1, 2, 3, 4, 5]
    assert numbers(read(url, "layers=7")) == []


def test_a_batch_is_an_array(trainer: Trainer, url: str) -> None:
    trainer.write(5)
    found = [event for event in read(url, "batch=2") if event.name == "message"]
    assert [[record["token_index"] for record in event.data] for event in found] == [
        [0, 1],
        [2, 3],
        [4],
    ]
    rest = read(url, "batch=2", **{"Last-Event-ID": str(found[0].id)})
    assert [len(event.data) for event in rest if event.name == "message"] == [2, 1]


def test_companions_are_named_events_and_resume_with_the_records(
    trainer: Trainer, url: str
) -> None:
    trainer.write(2)
    trainer.layout.metrics.write_text('{"iteration": 1}\n')
    trainer.layout.generations.write_text('{"R": 1.0, "prompt": "a\u2028b"}\n')
    found = read(url, "include=metrics,generation,health")
    assert [event.name for event in found] == [
        "source",
        "message",
        "message",
        "generation",
        "metrics",
    ]
    assert found[3].data == {"R": 1.0, "prompt": "a\u2028b"}
    with trainer.layout.metrics.open("a") as file:
        file.write('{"iteration": 2}\n')
    trainer.write(1)
    again = read(url, "include=metrics,generation", **{"Last-Event-ID": str(found[-1].id)})
    assert [(event.name, event.data.get("iteration")) for event in again[1:]] == [
        ("message", None),
        ("metrics", 2),
    ]


def test_a_run_is_chosen_by_name(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b")):
        made = Trainer(tmp_path / name)
        made.written = 100 * number
        made.write(1)
    with gateway(tmp_path) as url:
        assert numbers(read(url, "run=a")) == [0]
        assert numbers(read(url, "run=b")) == [100]


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ("run=..", 404, "no run '..'"),
        ("run=%2e%2e%2f", 404, "no run"),
        ("run=%00", 404, "no run"),
        ("run=" + "x" * 5000, 404, "no run"),
        ("layers=a", 400, "layers 'a'"),
        ("layers=", 400, "layers ''"),
        ("layers=-1", 400, "layers"),
        ("from=yesterday", 400, "'yesterday' is not the id"),
        ("from=../../etc/passwd", 400, "not the id"),
        ("include=rewards", 400, "'rewards' is none of"),
        ("batch=0", 400, "batch"),
        ("batch=10001", 400, "batch"),
        ("follow=maybe", 400, "follow"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_first_byte(
    refusing: str, query: str, status: int, says: str
) -> None:
    answer = httpx.get(f"{refusing}{STREAM}?{query}", **LOCAL)
    assert answer.status_code == status
    assert says in answer.json()["error"]["message"]


def test_history_as_plain_lines_then_the_stream_from_its_end(trainer: Trainer, url: str) -> None:
    trainer.write(3)
    trainer.rotate(50)
    trainer.write(2)
    answer = httpx.get(f"{url}/api/p5/sae/records", **LOCAL)
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.content == b"".join(trainer.line(number) for number in range(5))
    trainer.write(2)
    trainer.rotate(100)
    trainer.write(1)
    with Page(url, f"{STREAM}?from={answer.headers['x-next-id']}") as page:
        page.has(3)
    assert page.numbers == [5, 6, 7]
    some = httpx.get(f"{url}/api/p5/sae/records?layers=15", **LOCAL)
    assert [json.loads(line)["token_index"] for line in some.text.splitlines()] == [1, 3, 5, 7]


def test_foreign_pages_and_names_are_kept_out(refusing: str) -> None:
    """E1."""
    for path in (STREAM, "/api/p5/runs", "/api/runs", "/api/p5/health", "/api/p5/sae/records"):
        for header in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            answer = httpx.get(f"{refusing}{path}", headers=header, **LOCAL)
            assert answer.status_code == 403


def test_without_the_key_nothing_is_streamed(trainer: Trainer) -> None:
    """E3."""
    trainer.write(1)
    with gateway(trainer.layout.directory, api_key="Key") as url:
        for key in ("", "Bearer key", "Bearer Key2"):
            answer = httpx.get(f"{url}{STREAM}", headers={"Authorization": key}, **LOCAL)
            assert answer.status_code == 401
        with Page(url, headers={"Authorization": "Bearer Key"}) as page:
            page.has(1)


def test_a_link_out_of_the_directory_is_not_followed(trainer: Trainer, url: str) -> None:
    """E2: neither the live file, nor a checkpoint, nor a folder of segments."""
    secret = trainer.layout.directory.parent / "secret.jsonl"
    secret.write_text('{"token_index": 666}\n')
    os.symlink(secret, trainer.layout.live)
    trainer.layout.checkpoint(5).mkdir()
    os.symlink(secret, trainer.layout.snapshot(5))
    os.symlink(secret.parent, trainer.layout.segments)
    assert numbers(read(url)) == []
    assert numbers(read(url, "from=start")) == []
