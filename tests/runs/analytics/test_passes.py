"""Completions that several steps learn from are one each, in every list and statistic."""

import json
from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection

from sonde.runs.analytics.generation import generation_page, generation_view
from sonde.runs.analytics.overview import overview
from sonde.runs.analytics.scatter import scatter
from sonde.runs.analytics.vocabulary import vocabulary
from tests.runs.analytics.conftest import Read, reading
from tests.runs.analytics.made import made_run

LATER = 100


def learnt_from_again(read: Read) -> None:
    """Every completion once more, a hundred steps later, with records of its own."""
    layout = read.made.layout
    lines = [json.loads(line) for line in layout.generations.read_text().splitlines()]
    again = [line | {"step": line["step"] + LATER, "pass": 2} for line in lines]
    records = [record | {"step": record["step"] + LATER} for record in read.made.records]
    for path, added in ((layout.generations, again), (layout.live, records)):
        with path.open("a") as file:
            file.write("".join(json.dumps(line) + "\n" for line in added))


@pytest.fixture
def both(
    tmp_path: Path, connection: DuckDBPyConnection
) -> tuple[dict[str, object], dict[str, object], Read]:
    """The answers about a run, before and after its completions were learnt from again."""
    made = made_run(tmp_path / "run")
    with reading(made, connection) as read:
        before = answers(read)
        learnt_from_again(read)
    with reading(made, connection) as again:
        return before, answers(again), again


def answers(read: Read) -> dict[str, object]:
    known, cursor = read.known, read.cursor
    found = {
        "scatter": scatter(known, cursor, 15),
        "vocabulary": vocabulary(known, cursor, 15),
        "page": generation_page(known, limit=1000),
        "view": generation_view(known, cursor, "3-2"),
        "failed": generation_page(known, passed=False),
    }
    return {name: one.model_dump(exclude={"coverage"}) for name, one in found.items()}


def test_06_lists_and_statistics_count_a_completion_once(
    both: tuple[dict[str, object], dict[str, object], Read],
) -> None:
    before, after, _ = both
    for name, answer in before.items():
        assert after[name] == answer, name


def test_06_records_of_every_pass_join(
    both: tuple[dict[str, object], dict[str, object], Read],
) -> None:
    _, _, again = both
    found = overview(again.known, again.cursor, "run")
    assert found.unjoined == 0
    assert found.coverage.records == 2 * len(again.made.records)
    assert found.generations == found.passed + found.failed == len(again.made.generations)
