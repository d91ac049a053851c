import asyncio
import json
import threading
from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection, IOException

from sonde.errors import AnalyticsFailed, BadRequest, ServerStopping
from sonde.runs.analytics import service
from sonde.runs.analytics.analysis import RunAnalysis, RunContents
from sonde.runs.analytics.overview import overview
from sonde.runs.analytics.service import Analytics
from sonde.runs.layout import RunLayout
from sonde.schema.analytics import Overview
from tests.runs.analytics.made import Made, made_run

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return made_run(tmp_path / "run", steps=3)


def how_much(known: RunContents, cursor: DuckDBPyConnection) -> Overview:
    return overview(known, cursor, "run")


async def records(analytics: Analytics, layout: RunLayout) -> int:
    found = json.loads(await analytics.ask(layout, how_much))
    count = found["coverage"]["records"]
    assert isinstance(count, int)
    return count


async def test_an_answer_is_json_about_all_that_was_written_before_it_was_asked(made: Made) -> None:
    analytics = Analytics()
    assert await records(analytics, made.layout) == len(made.records)
    with made.layout.live.open("ab") as live:
        live.write(json.dumps(made.records[0]).encode() + b"\n")
    assert await records(analytics, made.layout) == len(made.records) + 1
    analytics.close()


async def test_nothing_runs_on_the_event_loop_or_the_threads_that_streams_use(made: Made) -> None:
    names = []

    def question(known: RunContents, cursor: DuckDBPyConnection) -> Overview:
        names.append(threading.current_thread().name)
        return how_much(known, cursor)

    analytics = Analytics()
    await analytics.ask(made.layout, question)
    assert names[0].startswith("sonde-analytics")
    analytics.close()


async def test_many_questions_at_once_get_the_same_answer(made: Made) -> None:
    analytics = Analytics()
    found = await asyncio.gather(*(records(analytics, made.layout) for _ in range(20)))
    assert set(found) == {len(made.records)}
    analytics.close()


async def test_a_question_is_answered_from_what_is_known_while_reading_goes_on(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader is held up until the first answer is there."""
    held, whole = threading.Event(), RunAnalysis.advance

    def slow(analysis: RunAnalysis, *_: object) -> RunContents:
        assert held.wait(10)
        return whole(analysis)

    monkeypatch.setattr(RunAnalysis, "advance", slow)
    analytics = Analytics(wait=0.05)
    assert await records(analytics, made.layout) == 0
    held.set()
    while await records(analytics, made.layout) != len(made.records):
        await asyncio.sleep(0.01)
    analytics.close()


async def test_a_large_run_is_read_in_turns(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0
    whole = RunAnalysis.advance

    def in_parts(analysis: RunAnalysis, *_: object) -> RunContents:
        nonlocal turns
        turns += 1
        if turns < 4:
            analysis._ingest.stop = True
            known = whole(analysis)
            analysis._ingest.stop = False
            return known
        return whole(analysis)

    monkeypatch.setattr(RunAnalysis, "advance", in_parts)
    analytics = Analytics()
    assert await records(analytics, made.layout) == len(made.records)
    assert turns == 4
    analytics.close()


async def test_what_goes_wrong_is_told_to_who_asked_and_not_to_the_next(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> RunContents:
        raise AnalyticsFailed(["no space"])

    analytics = Analytics()
    with monkeypatch.context() as patched:
        patched.setattr(RunAnalysis, "advance", full)
        with pytest.raises(AnalyticsFailed, match="no space"):
            await records(analytics, made.layout)

    def wrong(_known: RunContents, _cursor: DuckDBPyConnection) -> Overview:
        raise BadRequest("no such stretch")

    with pytest.raises(BadRequest, match="no such stretch"):
        await analytics.ask(made.layout, wrong)
    assert await records(analytics, made.layout) == len(made.records)
    analytics.close()


async def test_a_question_whose_volume_went_away_meanwhile_is_asked_again(made: Made) -> None:
    tries = 0

    def question(known: RunContents, cursor: DuckDBPyConnection) -> Overview:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise IOException("no such file")
        return how_much(known, cursor)

    analytics = Analytics()
    await analytics.ask(made.layout, question)
    assert tries == 2
    analytics.close()


async def test_only_so_many_runs_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    whole = RunAnalysis.close

    def noted(analysis: RunAnalysis) -> None:
        closed.append(analysis.layout.directory.name)
        whole(analysis)

    monkeypatch.setattr(RunAnalysis, "close", noted)
    analytics = Analytics(most_runs=2)
    runs = [made_run(tmp_path / name, steps=1) for name in "abc"]
    for made in (*runs, runs[1]):
        assert await records(analytics, made.layout) == len(made.records)
    analytics.close()
    assert closed[0] == "a"
    assert sorted(closed) == ["a", "b", "c"]


async def test_after_it_is_closed_it_answers_no_more(made: Made) -> None:
    analytics = Analytics()
    await records(analytics, made.layout)
    analytics.close()
    with pytest.raises(ServerStopping):
        await records(analytics, made.layout)
    Analytics().close()


def test_it_can_be_made_without_importing_anything_heavy() -> None:
    imports = [line for line in Path(service.__file__).read_text().splitlines() if "import" in line]
    at_top = [line for line in imports if not line.startswith(" ")]
    assert not any("numpy" in line or "duckdb" in line for line in at_top)
