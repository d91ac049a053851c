"""A classic summary as a table."""

from sonde.results.classic import table_of
from sonde.schema import MetricGrid, PromptTokens
from tests.results.summaries import summary, three_hooks


def test_every_hook_becomes_a_table_of_layers_by_positions() -> None:
    found = table_of(summary(positions=[2, 0, 1], tokens=PromptTokens(prompt=["a", "b", " c"])))
    [made] = found.tables
    assert (made.kind, made.hook) == ("cells", "post_block")
    assert [(axis.name, axis.values, axis.labels) for axis in made.axes] == [
        ("layer", [0, 1], ["0", "1"]),
        ("position", [2, 0, 1], [" c", "a", "b"]),
    ]
    assert made.values == {"logprob": [-5.0, -4.0, None, -1.0, -5.5, -5.0]}
    classic = three_hooks(4, 5).summary
    assert classic is not None
    hooks = [each.hook for each in table_of(classic).tables]
    assert hooks == ["post_block", "post_attn", "mlp_out"]


def test_a_sweep_asked_for_by_one_hook_has_that_grid() -> None:
    assert table_of(summary(hook_grids=None)).tables == table_of(summary()).tables


def test_further_metrics_are_values_of_the_same_table() -> None:
    def grid(metric: str, value: float) -> MetricGrid:
        return MetricGrid.model_validate(
            {"metric": metric, "hook": "post_block", "grid": [[value] * 3] * 2, "argmax": None,
             "argmin": None}
        )  # fmt: skip

    [made] = table_of(summary(metric_grids=[grid("logprob", 9.0), grid("logit_diff", 1.0)])).tables
    assert list(made.values) == ["logprob", "logit_diff"]
    assert made.values["logprob"][0] == -5.0  # the main grid is what counts
    assert made.values["logit_diff"] == [1.0] * 6


def test_what_a_classic_sweep_does_not_say_its_table_lacks() -> None:
    found = table_of(summary(metric="recovered", clean=None))
    assert found.corrupt == {"recovered": -5.0}
    assert found.clean is None
    assert found.noise_floor == {"recovered": 0.0}
    assert found.recovered_of == "logprob"
    assert found.notes == {}


def test_the_rest_is_as_it_was() -> None:
    classic = summary(warnings=["careful"])
    found = table_of(classic)
    for name in ("metric", "controls", "skipped", "alignment", "warnings", "timing", "tokens"):
        assert getattr(found, name) == getattr(classic, name)
