"""Any request that the OpenAPI document allows, and many that it does not: no surprise in return.

schemathesis makes the requests, from a fixed seed, and compares every answer with the document: its
status, its media type, its body. It does not know what a prompt is, so most of what it makes is
refused; so its optional fields are also put on requests that are right, and those get to the end.
What nothing may get is a 5xx, but for the two that the contract asks for. That wrong requests are
refused is tested elsewhere: the contract takes "yes" for true and 3.0 for 3, the document does not.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CheckContext
from schemathesis.core.transport import Response
from schemathesis.generation.feedback import NO_FEEDBACK
from schemathesis.specs.openapi import checks

from tests.server.contract.asking import CLEAN, Body, sweep_body
from tests.server.contract.conftest import tiny_backend
from tests.server.tiny_server import served

pytestmark = pytest.mark.slow

EXAMPLES = 60
"""Of each operation and kind."""

AS_THE_CONTRACT_SAYS = ("baseline generation failed", "auto-capture of clean run")
"""Rows 17 and 20: a prompt that the model cannot run is a 500 there."""

RIGHT: dict[str, Body] = {
    "POST /v1/patch_sweep": sweep_body(),
    "POST /v1/patch_sweep/estimate": sweep_body(),
    "POST /v1/completions": {"prompt": CLEAN, "max_tokens": 2},
    "POST /v1/chat/completions": {
        "messages": [{"role": "user", "content": CLEAN}],
        "max_tokens": 2,
    },
    "POST /tokenize": {"prompt": CLEAN},
    "POST /detokenize": {"tokens": [1, 2, 3]},
}
"""Bodies that are right as they stand."""

bounded = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The document of a server that runs, with a run in its store."""
    with served(tiny_backend(), tmp_path_factory.mktemp("any")) as server:
        server.http.post("/v1/patch_sweep", json=sweep_body(keep_source=True)).raise_for_status()
        yield schemathesis.openapi.from_url(f"{server.url}/openapi.json")


def operations(document: Any) -> dict[str, Any]:
    """All that the document describes, by method and path."""
    found = [each.ok() for each in document.get_all_operations()]
    return {operation.label: operation for operation in found}


def no_server_error(_context: CheckContext, response: Response, case: Any) -> bool | None:
    """No 5xx that nobody meant."""
    if response.status_code >= 500:
        assert any(words in response.text for words in AS_THE_CONTRACT_SAYS), response.text
        assert case.path.startswith("/v1/patch_sweep")
    return None


def send(case: Any) -> int:
    """Send it, and compare the answer with the document. -> its status"""
    if isinstance(case.body, dict) and type(case.body.get("n")) is int:
        case.body["n"] = min(case.body["n"], 2)  # dozens of completions are no other answer
    answer = case.call_and_validate(
        checks=[
            no_server_error,
            checks.status_code_conformance,
            checks.content_type_conformance,
            checks.response_headers_conformance,
            checks.response_schema_conformance,
        ],
        timeout=300,
    )
    return int(answer.status_code)


def statuses(requests: st.SearchStrategy[Any]) -> Counter[int]:
    """Send some requests of a kind, and count what came back; empty when there is no such kind."""
    seen: Counter[int] = Counter()

    @bounded
    @given(case=requests)
    def answers(case: Any) -> None:
        seen[send(case)] += 1

    with suppress(Unsatisfiable):  # nothing can be wrong with a request that takes nothing
        answers()
    return seen


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_answer_is_one_that_the_document_promises(
    document: Any, mode: GenerationMode, subtests: pytest.Subtests
) -> None:
    for label, operation in operations(document).items():
        with subtests.test(label):
            seen = statuses(operation.as_strategy(mode, feedback=NO_FEEDBACK))
            assert seen or not operation.body


def test_right_requests_with_any_option_are_answered_as_promised_too(
    document: Any, subtests: pytest.Subtests
) -> None:
    known = operations(document)
    for label, right in RIGHT.items():
        with subtests.test(label):
            kept = st.sets(st.integers(0, 60), max_size=3)
            made = st.tuples(known[label].as_strategy(feedback=NO_FEEDBACK), kept, st.just(right))
            assert statuses(made.map(completed))[200]


def completed(made: tuple[Any, set[int], Body]) -> Any:
    """A request that is right, with a few of the options of one that was made up."""
    case, kept, right = made
    options = [name for name in sorted(case.body) if name not in right]
    case.body = right | {name: case.body[name] for i, name in enumerate(options) if i in kept}
    return case
