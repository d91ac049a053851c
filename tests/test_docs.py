"""The documents are true: what they name exists. `test_docs_run` runs what they show."""

import ast
import inspect
import json
import re
import shlex
from datetime import date
from pathlib import Path

import click
import pytest
from benchmarks import figures

from sonde import errors
from sonde.cli.main import main
from sonde.schema import LAYER_HOOKS
from sonde.settings import SETTINGS, load_settings
from tests.documents import DOCS, MANUAL, README, ROOT, blocks, commands, name_of, prose

SOURCE = ROOT / "src" / "sonde"

each_document = pytest.mark.parametrize("document", DOCS, ids=name_of)
each_page = pytest.mark.parametrize("document", MANUAL, ids=name_of)


def without_variables(line: str) -> str:
    """`SONDE_API_KEY=$(…) sonde serve &` -> `sonde serve`."""
    return re.sub(r"^(?:[A-Z_]+=(?:\$\([^)]*\)|\S+) )+", "", line).removesuffix(" &")


def words(text: str) -> str:
    """Text without the differences between `SourceRun`, `source_run` and “source run”."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return re.sub(r"[\W_]+", " ", spaced).lower()


AVOIDED = re.compile(
    r"\bwhoever\b|\bin\s+(any|other)\s+company\b|\bthe\s+long\s+way\b", re.IGNORECASE
)
"""The field says caller, subscriber or operator; batch-invariant; a full pass."""


def test_the_tree_uses_the_words_of_the_field() -> None:
    written = {path for path in DOCS if path.name != "LOG.md"}
    for folder in ("src", "tests", "benchmarks"):
        written |= set((ROOT / folder).rglob("*.py")) - {Path(__file__)}
    found = [
        f"{name_of(path)}: {match[0]}"
        for path in sorted(written)
        for match in AVOIDED.finditer(path.read_text())
    ]
    assert found == []


@each_document
def test_a_command_in_the_documents_can_be_given(document: Path) -> None:
    for line in commands(document):
        program, *rest = shlex.split(without_variables(line), comments=True) or [""]
        if program == "sonde" and rest and not rest[0].startswith("-"):
            command = main.get_command(click.Context(main), rest[0])
            assert command is not None, line
            command.make_context(rest[0], rest[1:])


@each_document
def test_a_make_target_in_the_documents_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked = (shlex.split(line, comments=True) for line in commands(document))
    named = {parts[1] for parts in asked if parts[:1] == ["make"] and len(parts) > 1}
    assert named <= targets


@each_document
def test_links_pictures_and_paths_lead_to_files(document: Path) -> None:
    linked = re.findall(r"\]\((?!\w+://|#)([^)#\s]+)", prose(document))
    for target in linked:
        assert (document.parent / target).exists(), f"{document.name} links to {target}"
    folders = "src|tests|benchmarks|examples|docs"
    for path in re.findall(rf"`((?:{folders})/[\w./-]*|[\w/]+\.py)`", prose(document)):
        found = (ROOT / path).exists() or (ROOT / "src" / "sonde" / path).exists()
        assert found, f"{document.name} names {path}"


@each_document
def test_a_hook_in_the_documents_exists(document: Path) -> None:
    assert set(re.findall(r"\b(?:pre|post|mlp)_\w+", document.read_text())) <= set(LAYER_HOOKS)


def test_every_hook_is_defined_in_the_terms() -> None:
    terms = (ROOT / "TERMS.md").read_text()
    assert [hook for hook in LAYER_HOOKS if f"- `{hook}`: " not in terms] == []


def test_every_verb_is_shown_in_the_readme() -> None:
    shown = {tuple(line.split()[:2]) for line in commands(README)}
    verbs = main.list_commands(click.Context(main))
    assert [verb for verb in verbs if ("sonde", verb) not in shown] == []


def test_every_term_is_in_use() -> None:
    terms = re.findall(r"^### (.+)$", (ROOT / "TERMS.md").read_text(), re.MULTILINE)
    assert len(terms) > 20
    source = words(" ".join(path.read_text() for path in (ROOT / "src").rglob("*.py")))
    assert [term for term in terms if not re.search(rf"\b{words(term)}s?\b", source)] == []


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    drawn: dict[str, str] = {}
    branch: list[str] = []
    lines = re.findall(r"^([│├└─ ]*)([A-Z]\w+)(?:  |$)", errors.__doc__ or "", re.MULTILINE)
    for indent, name in lines:
        del branch[len(indent) // 4 :]
        drawn[name] = branch[-1] if branch else "Exception"
        branch.append(name)
    classes = inspect.getmembers(errors, inspect.isclass)
    defined = {
        name: kind.__bases__[0].__name__
        for name, kind in classes
        if issubclass(kind, errors.SondeError)
    }
    assert drawn == defined


def test_the_readme_is_one_sentence_two_pictures_two_commands_and_three_times_ten_lines() -> None:
    text = README.read_text()
    assert re.match(r"# Sonde\n\n\*\*[^*\n]+\.\*\*\n", text)
    assert len(text.splitlines()) < 200
    assert len(re.findall(r"!\[", prose(README))) >= 2
    assert next(blocks(README, "sh")).text.count("make ") == 2
    programs = [block.text for block in blocks(README, "python")]
    assert len(programs) == 3
    assert max(len(ast.parse(program).body) for program in programs) <= 12


def test_the_figures_in_the_readme_are_those_that_were_measured() -> None:
    assert figures.shown(README.read_text()) == figures.section(), figures.UPDATE


@each_page
def test_a_block_is_of_a_kind_that_is_run_or_checked(document: Path) -> None:
    for block in blocks(document):
        assert block.language in {"sh", "console", "python", "py", "json", "hocon", "text"}, (
            f"{document.name} has a block of {block.language!r}: use one that a test runs"
        )
        if block.language == "json":
            json.loads(block.text)


@each_page
def test_settings_in_the_documents_are_all_there_are(document: Path, tmp_path: Path) -> None:
    for n, block in enumerate(blocks(document, "hocon")):
        path = tmp_path / f"{n}.conf"
        path.write_text(block.text)
        named = set(load_settings(path, environ={}).origins)
        assert {setting.key for setting in SETTINGS if "filename" not in setting.key} <= named


def test_every_verb_has_a_page_and_the_index_leads_to_every_page() -> None:
    verbs = set(main.list_commands(click.Context(main)))
    pages = {path.stem for path in (ROOT / "docs" / "how-to").glob("*.md")}
    assert verbs <= pages
    index = (ROOT / "docs" / "index.md").read_text()
    folder = ROOT / "docs"
    for page in set(MANUAL) - {README, folder / "index.md"}:
        assert f"]({page.relative_to(folder).as_posix()})" in index, f"docs/index.md: link {page}"


def test_what_troubleshooting_quotes_is_what_sonde_says() -> None:
    """Each quoted message in the first column, as far as its words are fixed."""
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "troubleshooting.md").read_text(), re.M)
    said = " ".join(path.read_text() for path in SOURCE.rglob("*.py"))
    said += (ROOT / "Makefile").read_text()
    said = re.sub(r'"\s*\n\s*f?"', "", said)  # a message may be written over several lines
    quoted = [part for row in rows for part in re.findall(r"`([^`]+)`", row)]
    assert len(quoted) > 15
    for message in quoted:
        for part in re.split(r" ?(?:…|8091|/v1/patch_sweep|'engine'|smollm2|2) ?", message):
            assert part in said, f"nothing says {part!r}"


def test_a_variable_in_the_documents_is_read_somewhere() -> None:
    source = " ".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    for document in MANUAL:
        for name in re.findall(r"\b(?:AEGIR|SONDE)_[A-Z0-9_]+\b", document.read_text()):
            assert name in source, f"{document.name} names {name}"


def test_the_log_is_by_month_and_every_month_is_led_to() -> None:
    text = (ROOT / "LOG.md").read_text()
    preface, *months = re.split(r"^# ", text, flags=re.MULTILINE)[1:]
    newest = None
    for month in months:
        name = month.partition("\n")[0]
        days = re.findall(r"^## (\S+)", month, flags=re.MULTILINE)
        assert {date.fromisoformat(day).strftime("%B %Y") for day in days} == {name}
        assert newest is None or days[0] < newest
        newest = days[-1]
        assert f"[{name}](#{name.lower().replace(' ', '-')})" in preface
    assert "\n## " not in preface


def test_every_entry_of_the_log_has_a_day_and_says_what_was_tried_and_what_became_of_it() -> None:
    days = re.split(r"^## ", (ROOT / "LOG.md").read_text(), flags=re.MULTILINE)[1:]
    found = [date.fromisoformat(day.partition("\n")[0]) for day in days]
    assert found == sorted(found, reverse=True)
    entries = [entry for day in days for entry in re.split(r"^### ", day, flags=re.MULTILINE)[1:]]
    assert len(entries) > 20
    for entry in entries:
        for field in ("What", "Verdict"):
            assert f"\n- **{field}**: " in entry, f"{field} of {entry.splitlines()[0]!r}"
