from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.overview import overview
from tests.runs.analytics import plain
from tests.runs.analytics.conftest import Read


def test_it_counts_what_there_is(run: Read) -> None:
    found = overview(run.known, run.cursor, "root")
    assert (found.first_step, found.last_step, found.steps) == (1, 12, 12)
    assert found.unit == "step"
    assert found.coverage.records == len(run.made.records)
    assert found.coverage.complete
    assert found.generations == len(run.made.generations)
    assert found.passed == sum(one["gate"] for one in run.made.generations)
    assert found.passed + found.failed == found.generations
    assert (found.unjoined, found.missing) == (0, [])
    assert found.cache is not None
    for layer in found.layers:
        mine = plain.activations(run.made.records, layer.layer)
        assert layer.features == len({feature for _, feature, _ in mine})
        assert layer.records == sum(r["layer_index"] == layer.layer for r in run.made.records)


def test_a_run_of_the_reference_lacks_all_companions_and_says_what_that_means(
    reference: Read,
) -> None:
    found = overview(reference.known, reference.cursor, "root")
    assert (found.unit, found.steps, found.generations) == ("token", 1, 0)
    assert found.unjoined == found.coverage.records == len(reference.made.records)
    prevented = {one.file: one.prevents for one in found.missing}
    assert "scatter" in prevented["generations.jsonl"]
    assert set(prevented) == {
        "run.json",
        "generations.jsonl",
        "grpo_metrics.jsonl",
        "sae_health.jsonl",
    }


def test_nothing_is_nothing(run: Read) -> None:
    found = overview(RunContents(), run.cursor, "empty")
    assert (found.layers, found.first_step, found.coverage.records) == ([], None, 0)
