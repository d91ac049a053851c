"""The notebooks among the examples, run: python -m tests.notebooks [NAME …]

They are kept with what they print, so that they can be read where they are hosted. This runs them
and keeps that anew, and writes `docs/tutorial.md` from the tutorial; `make notebooks` does both.
What two runs print is compared by `prints`: words and whole numbers to the letter, others nearly,
times not at all, and of a picture that there is one. A cell with the tag `varies` prints what was
sampled while a policy was trained, which another kind of machine samples otherwise: of that too it
counts only that it is there.
"""

import os
import re
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import nbformat
from nbclient import NotebookClient

ROOT: Final = Path(__file__).parents[1]
EXAMPLES: Final = ROOT / "examples"
NOTEBOOKS: Final = sorted(EXAMPLES.glob("*.ipynb"))
TUTORIAL: Final = EXAMPLES / "tutorial.ipynb"
PAGE: Final = ROOT / "docs" / "tutorial.md"
IMAGES: Final = ROOT / "docs" / "images"
CELL_SECONDS: Final = 900

PICTURES: Final = ("image/png", "image/svg+xml", "text/html")
VARIES: Final = "varies"
_TIME = re.compile(r"\d[\d.,]*\s*(?:ms|s|seconds|min|minutes)\b")
_REAL = re.compile(r"[-−+]?\d+\.\d+(?:e[-−+]?\d+)?")
RELATIVE, ABSOLUTE = 0.02, 0.02
"""How far a number may be from what is kept: other kernels move last digits."""


def read(path: Path) -> nbformat.NotebookNode:
    """A notebook as it is kept."""
    return nbformat.read(path, as_version=4)


def run(path: Path, folder: Path) -> nbformat.NotebookNode:
    """The notebook with what it prints in a folder of its own, beside the files of the examples."""
    for file in EXAMPLES.glob("*.json"):
        (folder / file.name).symlink_to(file)
    notebook = read(path)
    surroundings = {name: each for name, each in os.environ.items() if name != "MPLBACKEND"}
    surroundings |= {"IPYTHONDIR": str(folder / ".ipython"), "COLUMNS": "80", "NO_COLOR": "1"}
    here = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=CELL_SECONDS, resources=here, record_timing=False)
    client.execute(env=surroundings)
    notebook.metadata = read(path).metadata
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = _kept(cell.outputs)
    return notebook


def _kept(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """What is worth keeping: stdout in one piece; progress and warnings on stderr are not."""
    kept: list[nbformat.NotebookNode] = []
    for each in outputs:
        if each.output_type == "stream" and each.name == "stderr":
            continue
        if each.output_type == "stream" and kept and kept[-1].output_type == "stream":
            kept[-1].text += each.text
        else:
            kept.append(each)
    return kept


Printed = list[tuple[str, list[float]]]
"""The words of each output with a sign for every number, and the numbers."""


def prints(notebook: nbformat.NotebookNode) -> list[Printed]:
    """What every code cell prints, in a form in which two runs can be compared."""
    return [
        [("something", []) if varies(cell) else _taken_apart(text) for text in _texts(cell.outputs)]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def varies(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell prints what was sampled."""
    return VARIES in cell.metadata.get("tags", [])


def _texts(outputs: list[nbformat.NotebookNode]) -> Iterator[str]:
    said = "".join(each.text for each in outputs if each.output_type == "stream")
    if said:
        yield said
    for each in outputs:
        if each.output_type == "error":
            yield f"{each.ename}: {each.evalue}"
        elif each.output_type != "stream":
            pictures = [kind for kind in PICTURES if kind in each.data]
            yield f"a picture: {', '.join(pictures)}" if pictures else each.data["text/plain"]


def _taken_apart(text: str) -> tuple[str, list[float]]:
    told = _TIME.sub("⟨time⟩", text)
    numbers = [float(each.replace("−", "-")) for each in _REAL.findall(told)]
    return re.sub(r"[ \t]+", " ", _REAL.sub("#", told)), numbers


def differences(kept: list[Printed], now: list[Printed]) -> Iterator[str]:
    """Where two runs differ by more than times and last digits."""
    for cell, (before, after) in enumerate(zip(kept, now, strict=True)):
        words = [[text for text, _ in each] for each in (before, after)]
        if words[0] != words[1]:
            yield f"code cell {cell}: {words[0]} became {words[1]}"
            continue
        for (text, old), (_, new) in zip(before, after, strict=True):
            for a, b in zip(old, new, strict=True):
                if abs(a - b) > ABSOLUTE + RELATIVE * abs(a):
                    yield f"code cell {cell}: {a} became {b} in {text[:200]!r}"


def page(notebook: nbformat.NotebookNode) -> str:
    """A notebook as a document: its text, its code and what that printed."""
    parts, pictures = [], 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source.replace("](../docs/", "]("))
            continue
        mark = "<!-- not run: the notebook of the same text is -->"
        parts.append(f"{mark}\n```python\n{cell.source}\n```")
        for output in cell.outputs:
            if output.output_type == "stream":
                parts.append(f"```text\n{output.text.rstrip()}\n```")
            elif "image/png" in output.data:
                pictures += 1
                parts.append(f"![What the cell above draws](images/{_picture(pictures)})")
            else:
                parts.append(f"```text\n{output.data['text/plain']}\n```")
    return "\n\n".join(parts) + "\n"


def images(notebook: nbformat.NotebookNode) -> Iterator[tuple[str, bytes]]:
    """The pictures that `page` names."""
    pngs = (
        output.data["image/png"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type != "stream" and "image/png" in output.data
    )
    for number, png in enumerate(pngs, 1):
        yield _picture(number), b64decode(png)


def _picture(number: int) -> str:
    return f"tutorial-{number}.png"


def keep(path: Path) -> None:
    """Run a notebook and keep it with what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        notebook = run(path, Path(folder))
    nbformat.write(notebook, path)
    if path == TUTORIAL:
        PAGE.write_text(page(notebook), encoding="utf-8")
        for name, png in images(notebook):
            (IMAGES / name).write_bytes(png)


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for each in NOTEBOOKS:
        if not wanted or each.stem in wanted:
            print(f"running {each.relative_to(ROOT)}", flush=True)  # noqa: T201
            keep(each)
