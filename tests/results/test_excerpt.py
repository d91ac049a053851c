"""What pictures show of a table too large to be looked at."""

from dataclasses import replace

import numpy as np

from sonde.results import Provenance, Sweep
from sonde.results.excerpt import SIDE, STRONGEST, Excerpt, excerpt
from sonde.results.pen import Pen
from sonde.results.terminal import render
from sonde.schema.table import Axis, Table
from tests.results.test_edges import ASKED, MODEL


def large() -> Sweep:
    """A table of more senders than a picture has."""
    found = MODEL.sweep(**ASKED, metric="logit_diff", senders=["embed"], receivers=["logits"])
    n = SIDE + 5
    names = [f"z:{i}.0" for i in range(n)]
    values: list[float | None] = [float(v) for v in np.random.default_rng(0).normal(size=n * n)]
    values[3] = None
    axes = [Axis(name=side, values=[*names], labels=names) for side in ("sender", "receiver")]
    table = Table(hook="post_block", axes=axes, values={"logit_diff": values})
    return Sweep(found.table.model_copy(update={"tables": [table]}), found.provenance)


def test_a_large_table_is_drawn_where_its_strongest_edges_are() -> None:
    whole = large()
    part = excerpt(whole)

    assert isinstance(part, Excerpt)
    assert part.top(5, by="abs") == whole.top(5, by="abs")
    assert {str(edge) for edge in part.edges(STRONGEST)} == {
        str(edge) for edge in whole.edges(STRONGEST)
    }
    assert max(part.views[0].values.shape) <= STRONGEST
    text = render(whole, pen=Pen(color=False), width=120)
    assert f"the {STRONGEST} strongest of 4,224 edges" in " ".join(text.split())
    assert len(whole.to_csv().splitlines()) == 1 + 65 * 65


def test_other_results_are_drawn_whole() -> None:
    sites = MODEL.sweep(**ASKED)
    edges = MODEL.sweep(**ASKED, metric="logit_diff", senders=["all"], receivers=["logits"])
    assert excerpt(sites) is sites
    assert excerpt(edges) is edges
    assert isinstance(edges.provenance, Provenance)
    assert "edges, sender" in str(replace(edges))
