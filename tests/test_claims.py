"""`docs/claims.md` is complete for numbers: each that the README gives has a proof that exists.

Sentences without a number may be rewritten in the README alone: what they promise is on that page
in its own words, and only the tests that keep it are looked up. Whether proofs hold is not asked
here: the tests among them are run with all others, and the benchmarks write their results, which
`test_docs` compares with the README's figures.
"""

import ast
import re
from datetime import date
from functools import cache
from pathlib import Path
from typing import NamedTuple, get_args

from sonde.schema import LAYER_HOOKS, Pairing
from tests.documents import README, ROOT, prose

PAGE = ROOT / "docs" / "claims.md"
WORDS = {5: "five", 6: "six", 10: "ten"}

NUMBER = re.compile(
    r"(?<![\w.`/-])\d[\d.,]*(?:e-\d+)?(?![\w-])"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten)\b",
    re.IGNORECASE,
)
"""Not those inside of names, such as float32 and SmolLM2-135M."""

NO_CLAIM = ("Three lines in your own TRL script", "TransformerLens 4.3, nnsight 0.8;")
"""Sentences of the README that count what stands below them, or name versions."""


class Claim(NamedTuple):
    """One row."""

    quoted: str
    shown_by: str
    last_shown: str

    @property
    def proofs(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.shown_by)


def flat(text: str) -> str:
    return " ".join(text.split())


def claims() -> list[Claim]:
    rows = re.findall(r"^\| (.+) \| (.+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    return [Claim(*row) for row in rows if row[0] != "claim"]


def claimed(said: str) -> bool:
    return any(claim.quoted in said or said in claim.quoted for claim in claims())


@cache
def names_in(path: Path) -> set[str]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {each.name for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, kinds)}


def exists(proof: str) -> bool:
    """A test by its name, a folder of tests, a benchmark with its results, or a make target."""
    path, _, test = proof.partition("::")
    if path.startswith("tests/"):
        found = ROOT / path
        return test in names_in(found) if test else found.exists()
    if benchmark := re.match(r"python -m benchmarks\.(\w+)", proof):
        folder = ROOT / "benchmarks"
        written = folder / "results" / f"{benchmark[1]}.json"
        return (folder / f"{benchmark[1]}.py").is_file() and written.is_file()
    target = re.fullmatch(r"make ([\w-]+)", proof)
    makefile = (ROOT / "Makefile").read_text()
    return target is not None and f"\n{target[1]}:" in makefile


def sentences() -> list[str]:
    """What the README says outside of programs and tables, until it says what there is not."""
    text = prose(README).partition("## Not yet")[0]
    text = re.sub(r"^(?:#.*|\|.*|<!--.*)$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"\1.", text)
    parts = [part for part in re.split(r"\n\n|\n- ", text) if part.strip()]
    said = [flat(each) for part in parts for each in re.split(r"(?<=[.:!?])\**\s+(?=[A-Z*])", part)]
    return [each.strip("-* ") for each in said if each.strip("-* ")]


def test_every_claim_is_quoted_as_the_readme_has_it() -> None:
    readme = flat(README.read_text())
    assert [claim.quoted for claim in claims() if flat(claim.quoted) not in readme] == []


def test_every_claim_has_proofs_that_exist_and_a_day() -> None:
    assert len(claims()) > 15
    for claim in claims():
        assert claim.proofs, f"nothing shows: {claim.quoted}"
        assert [proof for proof in claim.proofs if not exists(proof)] == [], claim.quoted
        assert date.fromisoformat(claim.last_shown).year >= 2026


def test_every_promise_is_kept_by_tests_that_exist() -> None:
    table = PAGE.read_text().partition("## Promises")[2]
    rows = re.findall(r"^\| ([^|]+) \| (`[^|]+`) \|$", table, re.MULTILINE)
    assert len(rows) > 10
    for promise, tests in rows:
        kept_by = re.findall(r"`([^`]+)`", tests)
        assert [test for test in kept_by if not exists(test)] == [], promise


def test_every_number_in_the_readme_is_claimed() -> None:
    said = [each for each in sentences() if NUMBER.search(each) and not each.startswith(NO_CLAIM)]
    assert len(said) > 10
    assert [each for each in said if not claimed(each)] == [], "quote it in docs/claims.md"


def test_numbers_in_words_are_those_of_the_code() -> None:
    formats = (ROOT / "src" / "sonde" / "sae" / "formats").glob("*.py")
    read = {path.stem for path in formats if not path.stem.endswith("_export")}
    others = read - {"__init__", "sonde"}
    readme = README.read_text()
    for said in (
        f"{WORDS[len(LAYER_HOOKS)]} points of a layer",
        f"all {WORDS[len(LAYER_HOOKS)]}\n  hooks",
        f"{WORDS[len(get_args(Pairing))]} pairings",
        f"{WORDS[len(others)]}, and its own",
    ):
        assert said in readme
