"""Text becomes contexts: never joined, never overlapping, some of them held out."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sonde.errors import BadRequest
from sonde.sae.corpus import (
    HELD_OUT,
    OPENING,
    SHORTEST,
    Contexts,
    Document,
    as_text,
    documents,
    documents_of_kinds,
    from_text,
    generated,
    in_documents,
    join,
    sources,
    split,
)
from tests.sae.reading import random_contexts, tiny_reader


def test_a_file_is_as_many_documents_as_form_feeds_make_of_it(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("one\ftwo\f \f")
    assert documents(file) == ["one", "two"]


def test_a_directory_is_its_text_files_in_order_of_name(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "second.md").write_text("second")
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "picture.png").write_bytes(b"\xff\xfe")
    assert documents(tmp_path) == ["first", "second"]


def test_what_is_no_text_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="absent"):
        documents(tmp_path / "absent")
    with pytest.raises(BadRequest, match="no text under"):
        documents(tmp_path)
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(BadRequest, match=r"binary\.txt as text.*UTF-8"):
        documents(tmp_path)


def test_where_text_is_from_is_read_from_beside_it(tmp_path: Path) -> None:
    assert sources(tmp_path)[0]["what"] == tmp_path.name
    said = [{"what": "Moby Dick", "licence": "public domain", "package": "npm"}]
    (tmp_path / "sources.json").write_text(json.dumps(said))
    assert sources(tmp_path) == said
    (tmp_path / "sources.json").write_text('[{"what": "Moby Dick"}]')
    with pytest.raises(BadRequest, match="KeyError.*what, licence and package"):
        sources(tmp_path)


def test_kinds_of_documents_are_those_of_their_sources_or_files(tmp_path: Path) -> None:
    (tmp_path / "moby.txt").write_text("one\ftwo")
    (tmp_path / "code.txt").write_text("three")
    found = documents_of_kinds(tmp_path)
    assert [(each.text, each.kind, each.quoted) for each in found] == [
        ("three", "code", True), ("one", "moby", True), ("two", "moby", True),
    ]  # fmt: skip
    said = {"what": "x", "licence": "y", "package": "z", "file": "code.txt", "domain": "programs"}
    (tmp_path / "sources.json").write_text(json.dumps([{**said, "quoted": False}]))
    assert documents_of_kinds(tmp_path)[0] == Document("three", "programs", quoted=False)
    assert documents_of_kinds(tmp_path / "moby.txt")[1] == Document("two", "moby")


def test_windows_cover_a_document_once_and_hold_nothing_of_another() -> None:
    reader = tiny_reader()
    texts = ["The Eiffel Tower is in the city of Paris. " * 9, "Mary gave a drink to John. " * 5]
    contexts = from_text(reader, texts, 32)
    rows = zip(contexts.ids.tolist(), contexts.lengths.tolist(), strict=True)
    windows = [ids[:length] for ids, length in rows]
    for ids in reader.tokens_of(texts):
        mine = [windows.pop(0) for _ in range(0, len(ids) - SHORTEST + 1, 32)]
        together = [token for window in mine for token in window]
        assert together == ids[: len(together)]
        assert len(ids) - len(together) < SHORTEST
    assert windows == []


def test_text_without_enough_tokens_is_refused() -> None:
    with pytest.raises(BadRequest, match="no document has 16 tokens"):
        from_text(tiny_reader(), ["Paris"], 32)


def test_every_so_many_contexts_are_held_out_and_none_is_in_both() -> None:
    contexts = random_contexts(3 * HELD_OUT)
    train, held = split(contexts)
    assert (len(train), len(held)) == (3 * HELD_OUT - 3, 3)
    assert torch.equal(held.ids, contexts.ids[HELD_OUT - 1 :: HELD_OUT])
    seen = {tuple(row) for row in train.ids.tolist()}
    assert not seen & {tuple(row) for row in held.ids.tolist()}


def test_documents_are_held_out_whole() -> None:
    contexts = random_contexts(2 * HELD_OUT * 3)
    of = torch.arange(len(contexts)) // 3
    train, held = split(replace(contexts, documents=of))
    assert held.documents is not None
    assert train.documents is not None
    assert held.documents.tolist() == [HELD_OUT - 1] * 3 + [2 * HELD_OUT - 1] * 3
    assert not set(train.documents.tolist()) & set(held.documents.tolist())


def test_of_few_documents_the_end_is_held_out() -> None:
    contexts = random_contexts(3 * HELD_OUT)
    few = replace(contexts, documents=torch.arange(len(contexts)) // HELD_OUT)
    train, held = split(few)
    assert not in_documents(few)
    assert in_documents(contexts)
    assert torch.equal(held.ids, contexts.ids[-3:])
    assert len(train) == 3 * HELD_OUT - 3


def test_joining_pads_to_the_longest_and_position_0_is_not_counted() -> None:
    one, other = random_contexts(4, 8), random_contexts(4, 20)
    both = join([one, other])
    assert both.ids.shape == (8, 20)
    assert torch.equal(both.ids[:4, :8], one.ids)
    assert both.n_tokens == one.n_tokens + other.n_tokens
    assert one.n_tokens == 3 * 7 + 3


def test_a_model_writes_after_random_tokens_and_after_texts_equally_often() -> None:
    reader, texts = tiny_reader(), random_contexts(6, 20)
    told: list[int] = []
    made = generated(reader, 4 * 24, 24, after=texts, seed=1, report=told.append)
    assert made.ids.shape == (4, 24)
    assert made.lengths.tolist() == [24] * 4
    begun = {tuple(row) for row in texts.ids[:, :OPENING].tolist()}
    assert [tuple(row) in begun for row in made.ids[:, :OPENING].tolist()] == [False] * 2 + [
        True
    ] * 2
    assert told == [48, 96]
    assert torch.equal(generated(reader, 96, 24, after=texts, seed=1).ids, made.ids)


def test_contexts_are_written_as_text_unless_they_cut_a_character_in_two() -> None:
    reader = tiny_reader()
    ids = reader.tokens_of(["The Colosseum is in Rome", "é"])
    rows = torch.zeros(2, 30, dtype=torch.int64)
    rows[0, : len(ids[0])] = torch.tensor(ids[0])
    rows[1, 0] = ids[1][0]
    text = as_text(reader, Contexts(rows, torch.tensor([len(ids[0]), 1])))
    assert text == "The Colosseum is in Rome\n"
