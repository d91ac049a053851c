"""Text to read a model on: files, directories, or what the model writes itself, cut into contexts.

A context is a window of tokens of one document. Windows do not overlap and are never joined across
documents. Every so many documents are held out, whole: nothing is trained on those, and everything
that is said about how good an autoencoder is, is said about those. Other windows of a document that
was trained on would flatter it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from sonde.backends.torch.reading import Reader
from sonde.backends.torch.sampling import chat_opening, rows_at_once, sample
from sonde.errors import BadRequest

APART: Final = "\f"
"""A form feed stands between two documents of one file."""
SUFFIXES: Final = (".txt", ".md", ".rst")
SOURCES: Final = "sources.json"
"""In a directory of text: where it is from, for the card."""
SHORTEST: Final = 16
"""Tokens; shorter rests of documents are left out."""
OPENING: Final = 16
"""Tokens of a text that the model is given to go on from."""
HELD_OUT: Final = 50
"""One document in so many is held out."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """Windows of tokens, padded on the right to one length."""

    ids: Tensor
    """int64 [contexts, positions]"""
    lengths: Tensor
    """How many positions of each are text. int64 [contexts]"""
    kinds: Tensor | None = None
    """Which kind of text each is, by its number, where that is known. int64 [contexts]"""
    documents: Tensor | None = None
    """Of which document each is, where several are of one. int64 [contexts]"""

    def __len__(self) -> int:
        """How many."""
        return len(self.ids)

    @property
    def n_tokens(self) -> int:
        """Positions with text, the first of each context not counted: it is never read."""
        return int((self.lengths - 1).sum())

    def take(self, index: Tensor | slice) -> Contexts:
        """Some of them."""
        kinds = None if self.kinds is None else self.kinds[index]
        documents = None if self.documents is None else self.documents[index]
        return Contexts(self.ids[index], self.lengths[index], kinds, documents)

    def kinds_of(self, index: Tensor | slice) -> Tensor:
        """The kinds of some; all are of the first where it is not known."""
        if self.kinds is None:
            return torch.zeros_like(self.lengths[index])
        return self.kinds[index]

    def of_kind(self, kind: int) -> Contexts:
        """Those whose kind has this number."""
        return self.take(self.kinds_of(slice(None)) == kind)


def join(parts: Sequence[Contexts]) -> Contexts:
    """All of them, padded to the longest; of which document each was is forgotten."""
    length = max(part.ids.shape[1] for part in parts)
    padded = [torch.nn.functional.pad(p.ids, (0, length - p.ids.shape[1])) for p in parts]
    kinds = torch.cat([part.kinds_of(slice(None)) for part in parts])
    return Contexts(torch.cat(padded), torch.cat([part.lengths for part in parts]), kinds)


def documents(path: Path) -> list[str]:
    """The documents of a text file, or of all text files under a directory, in order of name."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        if not files:
            raise BadRequest(f"no text under {path}: expected files ending in {list(SUFFIXES)}")
        return [text for file in files for text in documents(file)]
    try:
        whole = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"cannot read {path} as text: {error}; expected UTF-8") from error
    return [text for text in whole.split(APART) if text.strip()]


@dataclass(frozen=True)
class Document:
    """A text, what kind it is, and whether it may be quoted."""

    text: str
    kind: str
    quoted: bool = True


def documents_of_kinds(path: Path) -> list[Document]:
    """The documents of a file or directory, and their kinds: by `sources.json`, or by file."""
    if not path.is_dir():
        return [Document(text, path.stem) for text in documents(path)]
    said = {}
    if (path / SOURCES).is_file():
        listed = json.loads((path / SOURCES).read_text(encoding="utf-8"))
        said = {str(each["file"]): each for each in listed if "file" in each}
    documents(path)  # the same refusals
    found = []
    for file in sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES):
        about = said.get(file.name, {})
        kind, quoted = str(about.get("domain", file.stem)), bool(about.get("quoted", True))
        found += [Document(text, kind, quoted) for text in documents(file)]
    return found


def sources(path: Path) -> list[dict[str, str]]:
    """What is said about the text in a directory: what it is, its licence, its package."""
    listed = path / SOURCES
    if not listed.is_file():
        return [{"what": path.name, "licence": "licence not said", "package": "a local file"}]
    try:
        found = json.loads(listed.read_text(encoding="utf-8"))
        return [{key: str(each[key]) for key in ("what", "licence", "package")} for each in found]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadRequest(
            f"cannot read {listed}: {error!r}; expected a list of objects with what, licence and "
            "package"
        ) from error


def from_text(reader: Reader, texts: Sequence[str], length: int) -> Contexts:
    """Documents cut into windows of `length` tokens."""
    windows = [
        (document, ids[start : start + length])
        for document, ids in enumerate(reader.tokens_of(texts))
        for start in range(0, len(ids), length)
        if len(ids) - start >= SHORTEST
    ]
    if not windows:
        raise BadRequest(f"no document has {SHORTEST} tokens, as many as a context needs")
    lengths = torch.tensor([len(window) for _, window in windows])
    ids = torch.zeros(len(windows), length, dtype=torch.int64)
    for row, (_, window) in zip(ids, windows, strict=True):
        row[: len(window)] = torch.tensor(window)
    return Contexts(ids, lengths, documents=torch.tensor([number for number, _ in windows]))


def generated(
    reader: Reader,
    n_tokens: int,
    length: int,
    *,
    after: Contexts | None = None,
    seed: int = 0,
    report: Callable[[int], None] = lambda _done: None,
) -> Contexts:
    """At least `n_tokens` that the model writes, beginning in two or three ways, equally often.

    Where a user would begin to speak, if it knows chats: it then writes both sides. After a single
    token drawn at random, which gives it a topic. And, with `after`, after the first tokens of one
    of those contexts.
    """
    generator = torch.Generator(reader.device).manual_seed(seed)
    draw = torch.Generator().manual_seed(seed)
    ways: list[Callable[[int], Tensor]] = [lambda n: _random_tokens(reader, n, draw)]
    if (chat := chat_opening(reader.tokenizer)) is not None:
        ways.append(lambda n: torch.tensor([chat]).expand(n, -1))
    if after is not None:
        ways.append(lambda n: _beginnings(after, n, draw))
    share = -(-n_tokens // (length * len(ways)))
    most = rows_at_once(reader.model, length)
    parts: list[Contexts] = []
    for way in ways:
        for start in range(0, share, most):
            openings = way(min(most, share - start))
            ids = sample(reader.model, openings, length, generator=generator).cpu()
            parts.append(Contexts(ids, torch.full((len(ids),), length)))
            report(sum(len(part) for part in parts) * length)
    return join(parts)


def _random_tokens(reader: Reader, n: int, draw: torch.Generator) -> Tensor:
    """Ordinary tokens, one a row. -> [n, 1]"""
    special = set(reader.tokenizer.all_special_ids)
    ordinary = [i for i in range(len(reader.tokenizer)) if i not in special]
    chosen = torch.randint(len(ordinary), (n,), generator=draw)
    return torch.tensor(ordinary)[chosen, None]


def _beginnings(texts: Contexts, n: int, draw: torch.Generator) -> Tensor:
    """The first tokens of contexts drawn at random. -> [n, OPENING]"""
    return texts.ids[torch.randint(len(texts), (n,), generator=draw), :OPENING]


def as_text(reader: Reader, contexts: Contexts) -> str:
    """Contexts as documents of a file, those left out that cannot be written as text."""
    texts = [
        reader.tokenizer.decode(ids[:length].tolist(), clean_up_tokenization_spaces=False)
        for ids, length in zip(contexts.ids, contexts.lengths.tolist(), strict=True)
    ]
    return APART.join(text for text in texts if "\N{REPLACEMENT CHARACTER}" not in text) + "\n"


def split(contexts: Contexts) -> tuple[Contexts, Contexts]:
    """Those to train on, and those held out: one document in HELD_OUT, or the end of fewer."""
    documents = contexts.documents
    if documents is None:
        documents = torch.arange(len(contexts))
    if in_documents(contexts):
        held = documents % HELD_OUT == HELD_OUT - 1
    else:
        held = torch.arange(len(contexts)) >= len(contexts) - len(contexts) // HELD_OUT
    return contexts.take(~held), contexts.take(held)


def in_documents(contexts: Contexts) -> bool:
    """Whether there are enough documents to hold whole ones out."""
    documents = contexts.documents
    return documents is None or int(documents.bincount().count_nonzero()) >= HELD_OUT
