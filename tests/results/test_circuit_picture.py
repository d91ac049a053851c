"""The picture of a circuit: everything in it, and nothing else needed to see it."""

import re
import xml.etree.ElementTree as ET

import pytest

from sonde.results import Circuit
from sonde.results.circuit_picture import draw
from sonde.results.circuit_positions import draw_positions
from sonde.results.colors import css, diverging
from sonde.schema.circuit import CircuitShape

SHAPE = CircuitShape(n_layers=4, heads=4, kv_heads=2)
EDGES = [
    ("embed", "k:0.0", 4.0),
    ("z:0.1", "q:3.2", -2.0, -1.0),
    ("z:0.1", "mlp:3", 1.0, 1.5),
    ("mlp_out:3", "logits", 0.5),
]
NS = "{http://www.w3.org/2000/svg}"


def paths(text: str) -> dict[str, ET.Element]:
    """By what they say: sender → receiver."""
    found = ET.fromstring(text).iter(f"{NS}path")
    return {str(each.findtext(f"{NS}title")).partition(":  ")[0]: each for each in found}


def of(text: str, edge: str) -> ET.Element:
    [found] = [path for title, path in paths(text).items() if title.startswith(edge)]
    return found


def test_solid_was_run_dashed_was_not_and_colour_is_the_sign() -> None:
    text = draw(Circuit.of(EDGES, SHAPE).whole)
    assert len(paths(text)) == len(EDGES)
    run, only = of(text, "z:0.1 → q:3.2"), of(text, "embed → k:0.0")
    assert "stroke-dasharray" not in run.attrib
    assert "stroke-dasharray" in only.attrib
    assert run.get("stroke") == css(diverging(-0.75))
    assert only.get("stroke") == css(diverging(0.75))
    assert "-1.00 exactly" in str(run.findtext(f"{NS}title")).replace("−", "-")


def test_width_is_the_effect() -> None:
    text = draw(Circuit.of(EDGES, SHAPE).whole)
    widths = [float(of(text, f"{s} → {r}").get("stroke-width", 0)) for s, r, *_ in EDGES]
    order = [widths[0], widths[2], widths[1], widths[3]]  # 4, 1.5, 1, 0.5 as far as is known
    assert order == sorted(order, reverse=True)
    assert len(set(order)) == 4


def test_an_edge_between_mlps_swings_out_past_those_between() -> None:
    shape = SHAPE.model_copy(update={"n_layers": 5})
    made = Circuit.of([(f"mlp_out:{n}", f"mlp:{n + 1}", 1.0) for n in range(4)]
                      + [("mlp_out:0", "mlp:4", 1.0)], shape)  # fmt: skip
    xs = {
        title.partition(":  ")[0]: {
            float(pair.split()[0]) for pair in re.findall(r"[\d.]+ [\d.]+", str(path.get("d")))
        }
        for title, path in paths(draw(made.whole)).items()
    }
    bowed = [edge for edge, each in xs.items() if len(each) > 1]
    assert len(bowed) == 1
    assert bowed[0].startswith("mlp_out:0 → mlp:4")


def test_nodes_that_share_a_key_are_drawn_where_it_is_read() -> None:
    text = draw(Circuit.of(EDGES, SHAPE).whole)
    titles = {each.findtext(f"{NS}title") for each in ET.fromstring(text).iter(f"{NS}g")}
    assert {"z:0.0", "z:0.1", "z:3.2", "mlp_out:3", "embed", "logits"} <= titles
    assert "z:3.3" not in titles
    assert text.count("nothing in the circuit") == 2


def test_only_the_strongest_are_drawn_where_there_are_many() -> None:
    whole = Circuit.of(EDGES, SHAPE).whole
    assert len(paths(draw(whole, most=2))) == 2
    assert "4 of 4 edges, 2 drawn" in draw(whole, most=2)


def test_names_are_escaped_and_bytes_are_the_same() -> None:
    whole = Circuit.of(EDGES, SHAPE).whole.model_copy(update={"model": "<script>&"})
    assert draw(whole) == draw(whole)
    assert "<script" not in draw(whole)
    assert draw(whole) != draw(whole, dark=True)


def test_nodes_at_single_positions_stand_by_layer_and_position() -> None:
    rows = [("z:0.1", 2.0, 1.0, "1 <John>"), ("z:0.3", 1.0, None, "1 <John>"),
            ("mlp_out:3", -1.0, None, "4 to")]  # fmt: skip
    made = Circuit.of_nodes(rows, SHAPE, positions=["0 When", "1 <John>", "4 to"])
    assert Circuit.from_json(made.to_json()) == made
    text = made.to_svg()
    assert text == draw_positions(made.whole) != draw_positions(made.whole, dark=True)
    boxes = {
        str(group.findtext(f"{NS}title")).partition(":  ")[0]: group.find(f"{NS}rect")
        for group in ET.fromstring(text).iter(f"{NS}g")
    }
    at = {title[:7]: (float(r.get("x", 0)), float(r.get("y", 0)))
          for title, r in boxes.items() if r is not None}  # fmt: skip
    assert at["z:0.1 a"][1] == at["z:0.3 a"][1] > at["mlp_out"][1]
    assert at["z:0.1 a"][0] < at["z:0.3 a"][0] < at["mlp_out"][0]
    assert "0 When" not in text
    [run] = [r for title, r in boxes.items() if r is not None and "dasharray" not in str(r.attrib)]
    assert run.get("stroke") == css(diverging(0.75))


@pytest.mark.parametrize("parallel", [False, True])
def test_nodes_alone_are_boxes(parallel: bool) -> None:
    shape = SHAPE.model_copy(update={"parallel": parallel})
    made = Circuit.of_nodes([("z:0.1", 2.0, 1.0), ("mlp_out:3", -1.0)], shape)
    text = made.to_svg()
    assert not paths(text)
    titles = [str(g.findtext(f"{NS}title")) for g in ET.fromstring(text).iter(f"{NS}g")]
    assert [t for t in titles if t.startswith("z:0.1")] == ["z:0.1 1.00"]
    assert any(t.startswith("mlp_out:3") and t.endswith("attributed") for t in titles)
