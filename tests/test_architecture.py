"""The shape of the package: who imports whom, how long files are, what they may be called.

The import table is read from ARCHITECTURE.md, so the document and the rule cannot drift apart.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sonde"
MODULES = sorted(PACKAGE.rglob("*.py"))
CODE = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "examples")
    for suffix in ("py", "css", "js", "html")
    for path in (ROOT / folder).rglob(f"*.{suffix}")
    if (PACKAGE / "server" / "ui") not in path.parents  # built from ui/, and not in the repository
)

MAX_LINES = 400
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "shared"}
HEAVY = {"torch", "transformers", "peft", "accelerate", "gguf", "safetensors", "tokenizers"}
HEAVY |= {"huggingface_hub"}

UNTESTED = {"__main__", "errors", "backends.base", "backends.torch.loading.loaded"}
UNTESTED |= {"training.summary", "server.parts"}
"""Types only, like all of `schema`, so without a test file of their own. (`test_docs` compares the
tree of errors with its drawing.)"""

each_module = pytest.mark.parametrize("module", MODULES, ids=lambda path: name_of(path))


def name_of(module: Path) -> str:
    """`engine.sweep`; a package is called by its own name, and the whole package `__init__`."""
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


NAMES = {name_of(module): module for module in MODULES}


def layer_of(name: str) -> str:
    return name.partition(".")[0]


@cache
def table() -> dict[str, set[str]]:
    """Layer -> what it may import, from the document."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", _section("## Layers"), re.MULTILINE)
    return {layer: set(re.findall(r"`([\w.]+)`", cell)) or {cell} for layer, cell in rows}


def _section(heading: str) -> str:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    return text[text.index(heading) :].partition("\n## ")[0]


@cache
def imports(module: Path, *, at_import: bool = False) -> frozenset[str]:
    """What a module imports, ours as `sonde:` and `name_of`; all, or what importing it runs."""
    tree = ast.parse(module.read_text())
    found = set()
    for node in _run_at_import(tree) if at_import else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {_ours(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            found |= {_ours(f"{base}.{alias.name}") for alias in node.names}
    return frozenset(found)


def _absolute(module: Path, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    here = ("sonde", *module.relative_to(PACKAGE).parts)
    return ".".join([*here[: -node.level], *([node.module] if node.module else [])])


def _ours(name: str) -> str:
    """`sonde.engine.sweep.Row` -> `sonde:engine.sweep`; names of others stay as they are."""
    top, _, rest = name.partition(".")
    if top != "sonde":
        return name
    parts = rest.split(".")
    while parts and ".".join(parts) not in NAMES:
        parts.pop()
    return f"sonde:{'.'.join(parts) or '__init__'}"


def _run_at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Every node but the bodies of functions and of `if TYPE_CHECKING:`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            yield from (part for other in child.orelse for part in ast.walk(other))
            continue
        yield child
        yield from _run_at_import(child)


def heavy_imports(name: str) -> set[str]:
    """Heavy packages that importing this module of ours brings in, by whatever way."""
    found: set[str] = set()
    seen: set[str] = set()
    todo = [name, "__init__"]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        if package := current.rpartition(".")[0]:
            todo.append(package)
        for imported in imports(NAMES[current], at_import=True):
            where, _, ours = imported.partition(":")
            if ours:
                todo.append(ours)
            found |= {layer_of(where)} & HEAVY
    return found


def needs_torch(name: str) -> bool:
    """Whether a module is in one of the places that may import torch."""
    return name.startswith(("backends.torch", "backends.vllm.", "sae.", "training."))


def test_the_table_lists_the_layers_there_are_and_no_other() -> None:
    assert set(table()) == {layer_of(name) for name in NAMES}
    allowed = set().union(*table().values()) - {"nothing", "anything"}
    assert allowed <= set(NAMES), "the table allows what does not exist"


@each_module
def test_a_module_imports_only_what_its_layer_may(module: Path) -> None:
    layer = layer_of(name_of(module))
    allowed = table()[layer]
    if allowed == {"anything"}:
        return
    for imported in imports(module):
        where, _, ours = imported.partition(":")
        if where == "sonde":
            fits = {layer_of(ours), ours} & allowed or layer_of(ours) == layer
            assert fits, f"{layer} may not import sonde.{ours}"


@each_module
def test_importing_a_module_imports_no_torch_unless_it_is_the_torch_backend(module: Path) -> None:
    if not needs_torch(name_of(module)):
        assert not heavy_imports(name_of(module))


def test_every_module_but_the_torch_backend_really_imports_without_torch() -> None:
    """What the syntax tree cannot see, `importlib` included. `__main__` would run the program."""
    light = [name for name in NAMES if not needs_torch(name) and name != "__main__"]
    program = (
        f"import importlib, sys\nfor name in {light}:\n"
        "    importlib.import_module(f'sonde.{name}' if name != '__init__' else 'sonde')\n"
        f"sys.exit(', '.join({HEAVY} & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_short_and_its_name_says_what_it_is(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES
    named = {part.removeprefix("test_") for part in path.relative_to(ROOT).with_suffix("").parts}
    assert not named & BANNED_NAMES, "name it for what it does, beside its first caller"


@each_module
def test_a_module_says_what_it_is_for_and_leaves_printing_to_the_command_line(module: Path) -> None:
    tree = ast.parse(module.read_text())
    assert not tree.body or ast.get_docstring(tree), "begin with a docstring"
    if layer_of(name_of(module)) != "cli":
        calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        assert "print" not in {call.id for call in calls if isinstance(call, ast.Name)}


@each_module
def test_a_module_has_a_test_file_in_the_same_place(module: Path) -> None:
    name = name_of(module)
    if module.name == "__init__.py" or name in UNTESTED or layer_of(name) == "schema":
        return
    mirror = ROOT / "tests" / module.relative_to(PACKAGE).with_name(f"test_{module.name}")
    assert mirror.is_file(), f"write {mirror.relative_to(ROOT)}"
