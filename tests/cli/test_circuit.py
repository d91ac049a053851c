"""`sonde circuit`: from a result or a list to a file, a picture, and what it is worth."""

import json
from pathlib import Path
from typing import Any

import pytest

from sonde.results import Circuit
from sonde.results.circuit_curve import RULES, color, encoded, image, lines, strongest
from sonde.schema.circuit import CircuitEvaluation, CircuitShape
from tests.cli.shell import refusal, sonde

MARY, JOHN = "When Mary and John went to the store", "When John and Mary went to the store"
ASKED = ("--clean", MARY, "--corrupt", JOHN, "--answer", " Mary", "--foil", " Rome")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.jsonl"
    fields = {"clean": MARY, "corrupt": JOHN, "answer": " Mary", "foil": " Rome"}
    file.write_text(json.dumps(fields) + "\n")
    return file


@pytest.fixture
def where(tiny: Path) -> tuple[Any, ...]:
    return ("--model", tiny, "--device", "cpu")


def test_from_an_attribution_to_a_file_a_picture_and_a_curve(
    where: tuple[Any, ...], pairs: Path
) -> None:
    made = sonde("attribute", *where, *ASKED, "--verify", 3, "--save", "nodes.json")
    assert made.exit_code == 0, made.output
    said = sonde("circuit", "nodes.json", *where, "--nodes", 4,
                 "--save", "c.json", "--save", "c.svg")  # fmt: skip
    assert said.exit_code == 0, said.output
    assert len(said.stdout.splitlines()) == 4
    assert "exactly" in said.stdout
    assert len(Circuit.read("c.json")) == 4
    assert Path("c.svg").read_text().startswith("<svg")
    told = sonde("circuit", "c.json", *where, "--pairs", pairs, "--keep-wrong", "--curve",
                 "curve.json", "--curve", "curve.svg", "--curve", "curve.png")  # fmt: skip
    assert told.exit_code == 0, told.output
    assert "4 nodes of 10, on 1 pair" in told.stdout
    found = CircuitEvaluation.model_validate_json(Path("curve.json").read_text())
    assert found.size == 4
    assert [curve.rule for curve in found.curves] == list(RULES)
    assert "\n".join(lines(found)) in told.stdout
    assert Path("curve.png").read_bytes().startswith(b"\x89PNG")
    assert image(found, "svg") == encoded(found, ".svg") == Path("curve.svg").read_bytes()
    assert len({color(rule) for rule in RULES}) == 3


def test_a_plain_list_of_scores_is_a_circuit(where: tuple[Any, ...], pairs: Path) -> None:
    scores = [["embed", "logits", 1.0], ["embed", "mlp:0", -2.0], ["mlp_out:0", "logits", 0.5]]
    Path("scores.json").write_text(json.dumps(scores))
    said = sonde("circuit", "scores.json", *where, "--edges", 2, "--json")
    assert [edge.receiver for edge in Circuit.from_json(said.stdout).edges] == ["mlp:0", "logits"]
    told = sonde("circuit", "scores.json", *where, "--pairs", pairs, "--sizes", "1,3",
                 "--keep-wrong", "--no-random", "--json")  # fmt: skip
    found = CircuitEvaluation.model_validate_json(told.stdout)
    assert [[point.size for point in curve.points] for curve in found.curves] == [[1, 3]] * 2


def test_what_cannot_be_is_refused_in_a_line(where: tuple[Any, ...]) -> None:
    Path("list.json").write_text('[["embed"]]')
    Path("text.json").write_text("no")
    Path("c.json").write_text('{"format": "sonde.circuit.1"}')
    for asked, why in (
        (("nothing.json",), "'nothing.json' cannot be read"),
        (("text.json",), "'text.json' is no JSON"),
        (("c.json",), "'c.json' is no circuit: model: Field required"),
        (("c.json", "--save", "c.png"), "cannot save to 'c.png': suffix '.png' is none of"),
        (("c.json", "--curve", "c.svg"), "--curve, --sizes and --metric are about running it"),
        (("c.json", "--edges", 1, "--nodes", 1), "a circuit is of --edges or of --nodes"),
        (("list.json", *where), "'list.json' is no list of [sender, receiver, score]"),
    ):
        assert refusal(sonde("circuit", *asked)).startswith(why)


def test_the_strongest_are_listed_with_what_is_known_of_them() -> None:
    made = Circuit.of(
        [("embed", "q:0.0", 1.0, 2.0), ("embed", "logits", 0.5)],
        CircuitShape(n_layers=1, heads=1, kv_heads=1),
    )
    assert [line.split() for line in strongest(made.edges, 1)] == [
        ["embed", "→", "q:0.0", "1.00", "2.00", "exactly"], ["and", "1", "more"],
    ]  # fmt: skip
