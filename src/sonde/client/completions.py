"""Completions of one token: what a cell is, and what a capture rides on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sonde.client.grading import Graded, logprobs_of, raw
from sonde.client.http import Connection, decoded
from sonde.client.result import CleanRun
from sonde.client.tokens import Tokenizer


def one_token_body(model: str, prompt: str, tokens: Sequence[Graded]) -> dict[str, Any]:
    """A request for one greedy token, and the log-probabilities of exactly these."""
    body: dict[str, Any] = {"model": model, "prompt": prompt, "max_tokens": 1, "temperature": 0.0}
    if tokens:
        ids = [token.id for token in tokens]
        body |= {"logprobs": len(ids), "logprob_token_ids": ids}
    return body


async def complete(connection: Connection, body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to one completion, however long the server is busy with others."""
    return decoded(await connection.ask("POST", "/completions", body=body, seconds=None))


async def graded(tokenizer: Tokenizer, answer: str | None, foil: str | None) -> list[Graded]:
    """Answer and foil, as far as they are given, with their ids."""
    given = {"answer_token": answer, "foil_token": foil}
    return [
        Graded(text, await tokenizer.one_token(name, text))
        for name, text in given.items()
        if text is not None
    ]


async def capture(
    connection: Connection,
    model: str,
    wanted: CleanRun,
    *,
    layers: str | list[int],
    positions: str | list[int],
    foil: str | None,
) -> CleanRun:
    """Capture `wanted.prompt` under `wanted.run_id`, and fill in what the run says of itself."""
    if foil is not None and wanted.answer_token is None:
        raise ValueError("foil_token is compared with answer_token: give that too")
    assert wanted.prompt is not None
    tokens = await graded(Tokenizer(connection, model), wanted.answer_token, foil)
    source = {"run": wanted.run_id, "hooks": {wanted.hook: layers}, "positions": positions}
    body = one_token_body(model, wanted.prompt, tokens)
    body |= {"capture": {"patch_source": source}, "capture_wait": True}
    answer = await complete(connection, body)
    _check_stored(answer, wanted.run_id)
    made = replace(wanted, num_prompt_tokens=answer["usage"]["prompt_tokens"])
    if not tokens:
        return made
    logprobs = logprobs_of(answer, tokens)
    difference = None if foil is None else raw("logit_diff", logprobs)
    return replace(made, clean_logprob=logprobs[0], clean_logit_diff=difference)


def _check_stored(answer: Mapping[str, Any], run: str) -> None:
    """A server that reports on its captures must say that this one was stored."""
    report = (answer.get("capture_results") or {}).get("patch_source")
    if report is not None and report.get("status") != "ok":
        raise RuntimeError(
            f"run {run!r} was not stored: {report.get('status')}, {report.get('error')}; "
            "capture it again"
        )
