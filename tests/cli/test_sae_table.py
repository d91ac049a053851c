"""Dictionaries side by side, from made-up numbers."""

from sonde.cli.sae_table import bars, table
from sonde.sae.density import Density
from sonde.sae.evaluate import CrossEntropy, Evaluation
from sonde.sae.health import Health
from sonde.sae.judgement import Alike, Judgement, Labelled
from sonde.sae.probing.concepts import ConceptAccuracy
from sonde.sae.probing.letters import Letters

DENSITY = Density(3, 0.25, 1, 0.01, (0, 1, 8, 4))


def judged(fvu: float, **more: object) -> Judgement:
    health = Health(2_000, fvu, 0.9, 48.0, 0.5, 1.0)
    loss = CrossEntropy(original=3.0, spliced=3.25, zeroed=13.0, averaged=8.0)
    whole = Evaluation(health, loss, DENSITY, 0.97)
    return Judgement(15, 4096, 64, {"": whole, "code": whole}, Alike(0.25, 0.01), None, **more)  # type: ignore[arg-type]


def row(text: str, name: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"{name} "))
    return line.removeprefix(name).split()


def test_dictionaries_are_columns_and_kinds_of_text_are_rows() -> None:
    text = table([("15", judged(0.125)), ("15 beside", judged(0.25))])
    assert text.splitlines()[0].split("  ")[-1].strip() == "15 beside"
    assert row(text, "FVU") == ["0.1250", "0.2500"]
    assert row(text, "  code") == ["0.1250", "0.2500"]
    assert row(text, "cross-entropy recovered") == ["97.50", "%", "97.50", "%"]
    assert row(text, "L0") == ["48.0", "48.0"]
    assert row(text, "dense") == ["3", "3"]
    assert "over 2,000 tokens" in text
    assert "first letters" not in text


def test_what_was_asked_for_is_in_the_table_and_what_is_missing_is_a_dash() -> None:
    letters = Letters(19, 950, 0.78, 0.55, 1.2, 0.002)
    full = judged(
        0.1, letters=letters, concepts={"plural": ConceptAccuracy(0.9, 0.95, 1.0)},
    )  # fmt: skip
    text = table([("15", full), ("21", judged(0.2))])
    assert row(text, "  absorbed") == ["0.20", "%", "—"]
    assert row(text, "concepts, by one feature") == ["0.900", "—"]
    assert row(text, "  plural, by one") == ["0.900", "—"]


def test_labels_are_told_with_their_scores() -> None:
    held = Judgement(15, 4096, 64, judged(0.1).kinds, None, Labelled(12, 10, 0.75, 0.6))
    text = table([("15", held)])
    assert row(text, "labels") == ["12"]
    assert row(text, "  detection, median") == ["0.75"]
    assert row(text, "nearest neighbour, median") == ["—"]


def test_a_histogram_is_full_at_its_highest_and_never_empty_where_it_counts() -> None:
    assert bars((0, 1, 800, 400)) == " ▁█▄"
    assert bars((0, 0)) == "—"
