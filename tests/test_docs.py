"""The documents are true: what they show runs, what they name exists."""

import ast
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

import sonde
from sonde import errors
from sonde.cli.main import main
from sonde.schema import HOOKS

ROOT = Path(__file__).parents[1]
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

ADDRESS = "http://127.0.0.1:8091"

each_document = pytest.mark.parametrize("document", DOCS, ids=lambda path: path.name)


def blocks(document: Path, *languages: str) -> Iterator[str]:
    """The fenced blocks in these languages."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", document.read_text(), re.MULTILINE | re.DOTALL)
    return (text for language, text in fenced if language in languages)


def prose(document: Path) -> str:
    """The text between the fenced blocks."""
    return re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)


def commands(document: Path) -> Iterator[str]:
    """Every command line with `sonde` in it, from blocks and from the prose."""
    for block in blocks(document, "sh", "bash", "console"):
        lines = block.replace("\\\n", " ").splitlines()
        yield from (line.removeprefix("$ ") for line in lines)
    yield from re.findall(r"`([^`\n]+)`", prose(document))


def programs() -> dict[str, str]:
    """Every Python program a reader may run as it is."""
    shown = {
        f"{document.name}-{n}": text
        for document in DOCS
        for n, text in enumerate(blocks(document, "python"))
    }
    return shown | {path.name: path.read_text() for path in EXAMPLES}


def words(text: str) -> str:
    """Text without the differences between `SourceRun`, `source_run` and “source run”."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return re.sub(r"[\W_]+", " ", spaced).lower()


@pytest.fixture(scope="module")
def service(
    smollm2: "sonde.Model", tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], str]]:
    """Makes a text that names the server at its usual address name one that runs."""
    from sonde.server.serving import assemble, running_server

    with running_server(assemble(smollm2.backend, tmp_path_factory.mktemp("history"))) as url:
        yield lambda text: text.replace(ADDRESS, url)


@pytest.mark.slow
@pytest.mark.parametrize("program", programs().values(), ids=programs())
def test_a_program_in_the_documents_or_examples_runs(
    program: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    script = tmp_path / "program.py"
    if ADDRESS in program:
        program = request.getfixturevalue("service")(program)
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [*blocks(ROOT / "README.md", "console")], ids=lambda block: block.partition("\n")[0]
)
def test_the_terminal_prints_what_the_readme_shows(block: str, tmp_path: Path) -> None:
    """As far as the README shows it: what comes after is times, which differ."""
    line, *shown = block.splitlines()
    program = [sys.executable, "-m", *shlex.split(line.removeprefix("$ "))]
    done = subprocess.run(
        program,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert [each.rstrip() for each in done.stdout.splitlines()][: len(shown)] == shown


@pytest.mark.slow
@pytest.mark.parametrize("line", [each for each in commands(ROOT / "README.md") if ADDRESS in each])
def test_the_service_answers_what_the_readme_sends(
    line: str, service: Callable[[str], str], tmp_path: Path
) -> None:
    asked = shlex.split(service(line))
    program = (
        [sys.executable, "-m", *asked] if asked[0] == "sonde" else [*asked, "--fail-with-body"]
    )
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    if "-N" in asked:
        assert done.stdout.endswith("data: [DONE]\n\n")


@each_document
def test_a_command_in_the_documents_can_be_given(document: Path) -> None:
    for line in commands(document):
        program, *rest = shlex.split(line, comments=True) or [""]
        if program == "sonde" and rest:
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
    assert set(re.findall(r"\b(?:pre|post|mlp)_\w+", document.read_text())) <= set(HOOKS)


def test_every_hook_is_defined_in_the_terms() -> None:
    terms = (ROOT / "TERMS.md").read_text()
    assert [hook for hook in HOOKS if f"- `{hook}`: " not in terms] == []


def test_every_verb_is_shown_in_the_readme() -> None:
    shown = {tuple(line.split()[:2]) for line in commands(ROOT / "README.md")}
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


def test_the_readme_is_one_sentence_one_picture_two_commands_and_ten_lines() -> None:
    readme = ROOT / "README.md"
    assert re.match(r"# Sonde\n\n\*\*[^*\n]+\.\*\*\n", readme.read_text())
    assert "![" in prose(readme)
    assert next(blocks(readme, "sh")).count("make ") == 2
    ten = next(blocks(readme, "python"))
    assert len(ten.strip().splitlines()) <= 14
    assert len(ast.parse(ten).body) <= 10
