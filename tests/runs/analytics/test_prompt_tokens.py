"""The last token of each prompt, recorded too: it joins, and is no part of the completion."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from duckdb import DuckDBPyConnection

from sonde.runs.analytics.generation import generation_view
from sonde.runs.analytics.overview import overview
from sonde.runs.analytics.scatter import scatter
from sonde.runs.analytics.vocabulary import vocabulary
from tests.runs.analytics.conftest import Read, reading
from tests.runs.analytics.made import LAYERS, made_run


def with_prompts(read: Read) -> None:
    """The same run with one more place a generation, and a record there at each layer."""
    layout = read.made.layout
    shifted: dict[int, int] = {}
    moved, places, more = [], {}, []
    for line in read.made.generations:
        by = shifted.get(line["step"], 0)
        shifted[line["step"]] = by + 1
        start, end = line["token_start"] + by, line["token_end"] + by
        moved.append(line | {"token_start": start, "token_end": end + 1, "prompt_token": end})
        for token in range(line["token_start"], line["token_end"]):
            places[line["step"], token] = token + by
        more += [
            {
                "step": line["step"],
                "token_index": end,
                "layer_index": layer,
                "top_feature_indices": [38, 39],
                "top_feature_activations": [9000.0, 1.0],
                "reconstruction_loss": 1e6,
            }
            for layer in LAYERS
        ]
    records = [
        record | {"token_index": places[record["step"], record["token_index"]]}
        for record in read.made.records
    ]
    for path in (*layout.segments.glob("*"), *layout.directory.glob("checkpoint-*/*.jsonl")):
        path.unlink()
    layout.live.write_text("".join(json.dumps(one) + "\n" for one in (*records, *more)))
    layout.generations.write_text("".join(json.dumps(one) + "\n" for one in moved))


@pytest.fixture
def both(
    tmp_path: Path, connection: DuckDBPyConnection
) -> Iterator[tuple[Read, dict[str, object], Read]]:
    """The answers about a run, and the run again with its prompts' last tokens recorded."""
    made = made_run(tmp_path / "run")
    with reading(made, connection) as read:
        before = answers(read)
        with_prompts(read)
    with reading(made, connection) as again:
        yield read, before, again


def answers(read: Read) -> dict[str, object]:
    found = {
        "scatter": scatter(read.known, read.cursor, 15),
        "vocabulary": vocabulary(read.known, read.cursor),
    }
    return {name: one.model_dump(exclude={"coverage"}) for name, one in found.items()}


def test_what_is_said_of_completions_stays_as_it_was(
    both: tuple[Read, dict[str, object], Read],
) -> None:
    """No feature of a prompt is one of its completion, and no loss of a prompt its loss."""
    _, before, again = both
    assert answers(again) == before


def test_every_record_joins_to_its_generation(both: tuple[Read, dict[str, object], Read]) -> None:
    read, _, again = both
    found = overview(again.known, again.cursor, "run")
    assert found.unjoined == 0
    assert found.coverage.records == len(read.made.records) + len(LAYERS) * found.generations


def test_a_generation_begins_with_the_last_token_of_its_prompt(
    both: tuple[Read, dict[str, object], Read],
) -> None:
    _, _, again = both
    truth = again.made.generations[3]
    view = generation_view(again.known, again.cursor, truth["generation_id"])
    assert [token.position for token in view.tokens] == list(range(-1, truth["completion_tokens"]))
    assert view.tokens[0].layers[0].features == [38, 39]
    assert np.diff([token.token_index for token in view.tokens[1:]]).tolist() == [1] * (
        truth["completion_tokens"] - 1
    )
