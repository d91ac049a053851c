"""`/v1/tasks` over real HTTP: the pairs are those that Python makes."""

from collections.abc import Iterator

import pytest

from sonde.schema.pair import TaskList, TaskPairs
from sonde.tasks import TASKS, pairs
from tests.server.tiny_server import Served, chatting_backend, served


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(chatting_backend(), tmp_path_factory.mktemp("served")) as running:
        yield running


def test_every_task_is_listed(server: Served) -> None:
    found = TaskList.model_validate(server.http.get("/v1/tasks").json())
    assert [(each.name, each.pairs) for each in found.tasks] == [
        (name, task.n) for name, task in TASKS.items()
    ]


def test_a_task_gives_the_pairs_that_python_makes(server: Served) -> None:
    answer = server.http.get("/v1/tasks/agreement", params={"n": 7, "seed": 3})
    assert TaskPairs.model_validate(answer.json()).pairs == list(pairs("agreement", n=7, seed=3))


@pytest.mark.parametrize(("name", "n"), [("nothing", 3), ("agreement", 0)])
def test_what_there_is_not_is_refused(server: Served, name: str, n: int) -> None:
    assert server.http.get(f"/v1/tasks/{name}", params={"n": n}).status_code == 400
