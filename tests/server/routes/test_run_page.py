"""A run as a file to take along, over HTTP."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from sonde.errors import MissingInterface
from sonde.runs.analytics.service import Analytics
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.schema.run_copy import RunCopy
from sonde.server.errors import add_error_handlers
from sonde.server.routes.run_page import assets_of, routes
from tests.runs.analytics.made import made_run
from tests.tiny_model import tiny_tokenizer


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pages")
    made_run(root / "runs" / "mine", steps=6)
    (root / "build" / "copy").mkdir(parents=True)
    (root / "build" / "copy" / "copy.js").write_text("let a;")
    (root / "build" / "copy" / "copy.css").write_text("b {}")
    return root


@pytest.fixture(scope="module")
def http(root: Path) -> Iterator[TestClient]:
    app = FastAPI()
    analytics = Analytics()
    hub = Hub(RunLayout(root / "runs"))
    app.include_router(routes(hub, analytics, lambda text: text.split(), root / "build"))
    add_error_handlers(app)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client
    analytics.close()


def copy_in(page: str) -> RunCopy:
    found = re.search(r'id="run-copy">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return RunCopy.model_validate(json.loads(found[1]))


def test_the_file_holds_the_whole_run(http: TestClient) -> None:
    answer = http.get("/api/p5/page", params={"run": "mine"})
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''mine.html"
    copy = copy_in(answer.text)
    assert copy.overview.coverage.complete
    assert copy.overview.last_step == 6
    first = copy.generations.generations[0]
    assert copy.pieces[first.generation_id] == (first.completion or "").split()
    assert copy.cards[15].reason, "nobody has described these features, and the page says so"


def test_the_run_s_own_tokenizer_wins_over_the_model_s(root: Path, http: TestClient) -> None:
    run = made_run(root / "runs" / "saved", steps=1, save_every=1)
    tokenizer = tiny_tokenizer()
    tokenizer.save_pretrained(run.layout.checkpoint(1))
    copy = copy_in(http.get("/api/p5/page", params={"run": "saved"}).text)
    shutil.rmtree(run.layout.directory)
    first = copy.generations.generations[0]
    pieces = [tokenizer.decode([token]) for token in tokenizer(first.completion)["input_ids"]]
    assert copy.pieces[first.generation_id] == pieces


def test_without_a_name_it_is_the_newest(http: TestClient) -> None:
    assert copy_in(http.get("/api/p5/page").text).run.run == "mine"


def test_a_run_that_is_not_there_is_a_404(http: TestClient) -> None:
    assert http.get("/api/p5/page", params={"run": "other"}).status_code == 404


def test_without_a_build_there_is_no_page_and_a_way_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(MissingInterface, match="make ui"):
        assets_of(tmp_path)
