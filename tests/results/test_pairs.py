"""What many pairs say of a cell: means as they are defined, statistics of the changes, pictures."""

import csv
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.cli.terminal import terminal_pen
from sonde.errors import BadRequest
from sonde.results import PairSweep, Sweep
from sonde.results.terminal import render
from sonde.schema.pair import PromptPair
from sonde.statistics import effects, stability
from tests.backends.torch.tiny import backend_of
from tests.tiny_model import tiny_llama

NAMES = ["Eiffel", "Colosseum", "Mary", "John", "store", "drink", "Rome", "Paris"]
PAIRS = [
    PromptPair(
        clean=f"The {a} is in the Tower of", corrupt=f"The {b} is in the Tower of",
        answer=" Paris", foil=" Rome", roles={"name": {"clean": f" {a}", "corrupt": f" {b}"}},  # type: ignore[dict-item]
        cluster=a,
    )
    for a in NAMES for b in NAMES if a < b
]  # fmt: skip


@cache
def model() -> sonde.Model:
    return sonde.Model(backend_of(tiny_llama()))


def gap(record: Any) -> float:
    return float(record.clean["recovered"] - record.corrupt["recovered"])


@cache
def swept(
    metric: Any = "recovered",
    direction: str = "denoise",
    clusters: bool = False,
    right: bool = False,
) -> PairSweep:
    pairs = PAIRS if clusters else [p.model_copy(update={"cluster": None}) for p in PAIRS]
    if right:  # the denominators of a ratio of means have one sign
        apart = {record.pair for record in swept().records if gap(record) > 0.2}
        pairs = [pair for number, pair in enumerate(pairs) if number in apart]
    return model().sweep(
        pairs=pairs, hooks=["z", "v"], metric=metric, direction=direction, drop_wrong=False
    )


def test_recovered_over_pairs_is_the_ratio_of_means() -> None:
    found = swept()
    diff = model().sweep(pairs=found.pairs, hooks=["z"], metric="logit_diff", drop_wrong=False)
    zero = np.array([record.corrupt["logit_diff"] for record in diff.records], dtype=float)
    one = np.array([record.clean["logit_diff"] for record in diff.records], dtype=float)
    expected = (diff.per_pair["z"] - zero[:, None, None]).sum(0) / (one - zero).sum()
    np.testing.assert_allclose(found.mean["z"], expected, rtol=1e-6, atol=1e-8)
    assert not np.allclose(found.mean["z"], np.nanmean(found.per_pair["z"], axis=0))


def test_statistics_are_those_of_the_changes_of_all_cells_at_once() -> None:
    found = swept(right=True)
    assert 5 < len(found.pairs) < len(PAIRS)
    gaps = np.array([gap(record) for record in found.records])
    flat = [found.per_pair[hook].reshape(len(gaps), -1) for hook in ("z", "v")]
    table = np.concatenate(flat, axis=1) * gaps[:, None]
    expected = effects(table, denominators=gaps)
    both = np.concatenate([found.p["z"].ravel(), found.p["v"].ravel()])
    np.testing.assert_array_equal(both, np.array(expected.p, dtype=float))
    np.testing.assert_allclose(
        found.mean["z"].ravel(), np.array(expected.mean[:8], dtype=float), rtol=1e-9
    )
    assert found.stability == stability(table)
    assert (found.low["z"] <= found.mean["z"]).all()
    assert (found.mean["z"] <= found.high["z"]).all()
    assert found.mean["z"].shape == found.q["z"].shape == found.t["z"].shape == (2, 4)
    assert found.share_positive["v"].shape == (2, 2)


@pytest.mark.parametrize("metric", ["logprob", "prob", "kl_corrupt", "rank", "top1"])
def test_other_metrics_are_told_as_they_are(metric: Any) -> None:
    found = swept(metric)
    np.testing.assert_allclose(found.mean["z"], found.per_pair["z"].mean(0))
    zero = float(np.mean([record.corrupt[metric] or 0.0 for record in found.records]))
    assert found.baseline == pytest.approx(zero)
    low = found.effects.low[0]
    assert low is None or float(found.low["z"][0, 0]) == pytest.approx(low + zero)


def test_noise_is_read_against_the_clean_prompts() -> None:
    found, both = swept("logprob", "noise"), swept("logprob", "both")
    assert found.baseline == found.clean
    assert both.baseline is None
    np.testing.assert_array_equal(both.mean["z"][1], found.mean["z"])
    assert list(both.axes["z"]) == ["direction", "layer", "head"]
    np.testing.assert_allclose(both.t["z"][1], found.t["z"], rtol=1e-9)


def test_clusters_are_what_is_drawn_and_flipped() -> None:
    alone, clustered = swept(), swept(clusters=True)
    assert alone.clusters is None
    assert alone.effects.clusters == len(PAIRS)
    assert clustered.effects.clusters == len({pair.cluster for pair in PAIRS})
    assert dict(clustered.facts)["interval"].endswith("over 7 clusters")


def test_settings_change_the_statistics_and_no_number() -> None:
    before = swept("logprob")
    found = before.statistics(method="percentile", level=0.5, seed=3)
    assert found.effects.method == "percentile"
    assert found.mean["z"].tobytes() == before.mean["z"].tobytes()
    assert (found.high["z"] - found.low["z"] <= before.high["z"] - before.low["z"]).all()


def test_a_saved_result_reads_back_equal(tmp_path: Path) -> None:
    found = swept()
    path = found.save(tmp_path / "pairs.json")
    again = Sweep.from_json(path)
    assert isinstance(again, PairSweep)
    assert again == found
    assert again.p["z"].tobytes() == found.p["z"].tobytes()
    assert found.provenance.request["pairs"]["count"] == len(PAIRS)  # type: ignore[index,call-overload]


def test_cells_that_are_not_significant_are_hatched_everywhere() -> None:
    found = swept()
    hatched = [(~found.significant[hook]).sum() for hook in ("z", "v")]
    assert [int(each.sum()) for each in found.doubts] == hatched
    page = found.to_html()
    panels = page[page.index('class="panel') : page.index('id="values"')]
    assert panels.count(" noise") == sum(hatched)
    text = render(found, pen=terminal_pen(), width=100)
    assert text.count("~") >= sum(hatched)
    assert "not significant (family-wise p > 0.05" in text
    assert found.encoded("png")[:4] == b"\x89PNG"
    assert b"<svg" in found.encoded("svg")


def test_the_page_holds_every_pair_of_every_cell() -> None:
    found = swept()
    [data] = re.findall(
        r'<script type="application/json" id="pairs">(.*?)</script>', found.to_html()
    )
    beneath = json.loads(data)
    assert len(beneath["pairs"]) == len(PAIRS)
    top = found.per_pair["z"][:, -1, 0]  # the last layer is drawn first
    np.testing.assert_allclose(beneath["cells"][0][0], top, rtol=1e-3)
    assert 'id="pairs"' not in plain().to_html()


def plain() -> Sweep:
    return model().sweep(clean=PAIRS[0].clean, corrupt=PAIRS[0].corrupt, answer=" Paris")  # type: ignore[arg-type]


def test_tables_for_papers_have_the_statistics_of_every_cell() -> None:
    found = swept()
    lines = list(csv.DictReader(found.to_csv().splitlines()))
    assert len(lines) == 12
    first = lines[0]
    assert (first["hook"], first["layer"], first["head"]) == ("z", "0", "0")
    assert float(first["p"]) == found.p["z"][0, 0]
    assert float(first["n"]) == len(PAIRS)
    latex = found.to_latex(k=5)
    assert latex.count(r"\\") == 6
    assert r"95\% interval" in latex
    with pytest.raises(BadRequest, match="of sweeps over pairs"):
        plain().encoded("tex")


def test_parquet_has_every_pair(tmp_path: Path) -> None:
    import duckdb

    (tmp_path / "pairs.parquet").write_bytes(swept().encoded("parquet"))
    table = duckdb.read_parquet(str(tmp_path / "pairs.parquet"))
    assert "pair" in table.columns
    assert len(table.fetchall()) == len(PAIRS) * 12


def test_the_tables_and_means_of_pairs_are_where_they_are_looked_for() -> None:
    from sonde.results.cells import cell_at
    from sonde.results.pair_means import over_pairs
    from sonde.results.pair_tables import rows

    found = swept()
    assert over_pairs(found.whole) == found.table
    assert len(list(rows(found))) == 12
    assert cell_at(found.views, 8).hook == "v"
