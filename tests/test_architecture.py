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

UNTESTED = {"__main__", "backends.base", "backends.torch.loading.loaded"}
UNTESTED |= {"training.summary", "server.parts"}
TYPES_ONLY = {"schema", "errors"}
"""Named by no test; `test_docs` compares the tree of errors with its drawing."""


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
def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


@cache
def imports(module: Path, *, at_import: bool = False) -> frozenset[str]:
    """What a module imports, ours as `sonde:` and `name_of`; all, or what importing it runs."""
    tree = tree_of(module)
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


def ours(name: str) -> set[str]:
    """The modules of other layers that a module imports."""
    found = {where.partition(":")[2] for where in imports(NAMES[name]) if ":" in where}
    return {other for other in found if layer_of(other) != layer_of(name)}


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
    return name.startswith(("backends.torch", "backends.vllm.", "sae.", "training.", "reward."))


def test_the_table_lists_the_layers_there_are_and_no_other() -> None:
    assert set(table()) == {layer_of(name) for name in NAMES}
    allowed = set().union(*table().values()) - {"nothing", "anything"}
    assert allowed <= set(NAMES), "the table allows what does not exist"


def test_the_table_allows_nothing_that_nobody_imports() -> None:
    idle = []
    for layer, allowed in table().items():
        used = {other for name in NAMES if layer_of(name) == layer for other in ours(name)}
        reach = used | {layer_of(other) for other in used} | {"nothing", "anything"}
        idle += [f"{layer}: {other}" for other in sorted(allowed - reach)]
    assert idle == [], "take these out of the table in ARCHITECTURE.md"


def test_modules_and_verbs_that_the_document_names_are_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    paths = re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", text)
    steps = re.findall(r"\*\*[^*]+\*\*\s+\(((?:`\w+`(?:,\s+)?)+)\)", text)
    named = {*paths, *(name for step in steps for name in re.findall(r"`(\w+)`", step))}
    known = {name.replace(".", "/") for name in NAMES}
    assert len(named) > 50
    missing = [
        name
        for name in sorted(named)
        if not any(f"/{module}".endswith(f"/{name}") for module in known)
        and not (ROOT / name).exists()
    ]
    assert missing == [], "ARCHITECTURE.md names modules that are not there"
    verbs = re.findall(
        r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]+) \|", _section("## A backend"), re.M))
    )
    faces = [
        node
        for node in tree_of(NAMES["backends.base"]).body
        if isinstance(node, ast.ClassDef) and node.name in ("Text", "Runs", "Compute")
    ]
    assert len(faces) == 3
    methods = {
        node.name for face in faces for node in face.body if isinstance(node, ast.FunctionDef)
    }
    assert set(verbs) == methods, "the table of verbs in ARCHITECTURE.md"


def test_a_module_imports_only_what_its_layer_may() -> None:
    wrong = []
    for name in NAMES:
        layer = layer_of(name)
        for other in ours(name) if table()[layer] != {"anything"} else ():
            if not {layer_of(other), other} & table()[layer]:
                wrong.append(f"{layer} may not import sonde.{other}, and sonde.{name} does")
    assert wrong == []


def test_importing_a_module_imports_no_torch_unless_it_is_the_torch_backend() -> None:
    heavy = {name: heavy_imports(name) for name in NAMES if not needs_torch(name)}
    assert {name: found for name, found in heavy.items() if found} == {}


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


def test_a_file_is_short() -> None:
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in CODE}
    assert {path: count for path, count in lines.items() if count > MAX_LINES} == {}


def test_a_file_is_named_for_what_it_does() -> None:
    parts = {path: path.relative_to(ROOT).with_suffix("").parts for path in CODE}
    vague = [
        path for path in CODE if {part.removeprefix("test_") for part in parts[path]} & BANNED_NAMES
    ]
    assert vague == [], "name it for what it does, beside its first caller"


def test_a_module_begins_with_what_it_is_for() -> None:
    trees = {name: tree_of(module) for name, module in NAMES.items()}
    silent = [name for name, tree in trees.items() if tree.body and not ast.get_docstring(tree)]
    assert silent == [], "begin with a docstring"


def test_printing_is_left_to_the_command_line() -> None:
    printing = [
        f"sonde.{name}, line {node.lineno}"
        for name, module in NAMES.items()
        if layer_of(name) != "cli"
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    ]
    assert printing == []


def test_a_module_is_named_by_some_test_file() -> None:
    files = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path != Path(__file__)]
    tests = "\n".join(path.read_text() for path in files)
    missing = [
        name
        for name, module in NAMES.items()
        if module.name != "__init__.py" and name not in UNTESTED
        if layer_of(name) not in TYPES_ONLY
        if not (
            ROOT / "tests" / module.relative_to(PACKAGE).with_name(f"test_{module.name}")
        ).exists()
        if not re.search(rf"\b(sonde\.{re.escape(name)}\b|{_imported(name)})", tests)
    ]
    assert missing == [], "no test speaks of these"


def _imported(name: str) -> str:
    """`from sonde.engine import sources`, as a pattern."""
    package, _, module = f"sonde.{name}".rpartition(".")
    return rf"from {re.escape(package)} import [^\n]*\b{module}\b"
