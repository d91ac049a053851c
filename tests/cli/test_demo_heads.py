"""The demo's heads: from which layer they are asked, and a model that knows no landmark."""

from pathlib import Path

import pytest

import sonde
from sonde.cli import demo_heads
from sonde.cli.progress import progress
from sonde.schema import Grid, PromptTokens
from tests.backends.torch.tiny import backend_of
from tests.results.summaries import sweep
from tests.tiny_model import tiny_llama


@pytest.mark.parametrize(
    ("last_column", "n_layers", "first"),
    [([0.0] * 23 + [0.9] * 7, 30, 20), ([0.0, 0.9], 2, 0), ([0.1] * 30, 30, 0)],
    ids=["moves at 23", "a small model", "never comes"],
)
def test_heads_are_asked_from_a_tenth_of_the_model_below_the_crossing(
    last_column: list[float], n_layers: int, first: int
) -> None:
    grid: Grid = [[0.0, value] for value in last_column]
    found = sweep({"post_block": grid}, metric="recovered", tokens=PromptTokens(prompt=["a", "b"]))
    assert demo_heads.first_layer(found, n_layers) == first


def test_a_model_that_gets_no_pair_right_is_told_as_such(tmp_path: Path) -> None:
    model = sonde.Model(backend_of(tiny_llama()))
    fact = sweep(metric="recovered")
    with progress("patching") as shown:
        entry, told = demo_heads.heads(model, fact, tmp_path, shown)
    assert entry.text.startswith("Not measured: ")
    assert entry.page is None
    assert told == []
    assert list(tmp_path.iterdir()) == []
