"""A file of pairs: every bad line is known by its number, and no good one is lost."""

import json
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.errors import BadRequest
from sonde.schema.pair import PromptPair
from sonde.tasks import files
from sonde.tasks.pairs import Pairs

GOOD: dict[str, Any] = {
    "clean": "The capital of France is", "corrupt": "The capital of Italy is", "answer": " Paris",
    "foil": " Rome", "roles": {"country": {"clean": "France", "corrupt": "Italy"}, "end": " is"},
    "cluster": "capital",
}  # fmt: skip


def line(**changed: Any) -> str:
    return json.dumps({k: v for k, v in (GOOD | changed).items() if v is not None})


def written(tmp_path: Path, *lines: str | bytes) -> Path:
    path = tmp_path / "mine.jsonl"
    whole = [each.encode() if isinstance(each, str) else each for each in lines]
    path.write_bytes(b"".join(each + b"\n" for each in whole))
    return path


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    pairs = sonde.pairs("ioi", n=40)
    pairs.save(tmp_path / "ioi.jsonl")
    loaded = Pairs.load(tmp_path / "ioi.jsonl")
    assert loaded.pairs == pairs.pairs
    assert (loaded.name, loaded.digest, loaded.dropped) == ("ioi", pairs.digest, ())


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (line(clean=None), "field 'clean' is missing"),
        (line(answer=None), "field 'answer' is missing"),
        (line(ansewr=" Paris"), "there is no field 'ansewr'"),
        (line(clean=GOOD["corrupt"]), "the clean and the corrupt prompt are the same"),
        (line(clean="  "), "the clean prompt is empty"),
        (line(foil=" Paris"), "' Paris' is answer and foil"),
        (line(roles={"verb": " was"}), "role 'verb': ' was' is not in the clean prompt"),
        (line(roles={"a": {"clean": "France", "corrupt": "Spain"}}), "'Spain' is not in the corr"),
        (line(roles={"a": "a"}), "role 'a': 'a' is 3 times in the clean prompt"),
        (line(roles={"a b": " is"}), "roles.a b"),
        (line(clean=[1, 2]), "there are only token ids in the clean prompt"),
        (line(clean=7), "clean"),
        ("{", "Invalid JSON"),
        ("[]", "object"),
        (b"\xff\xfe", "Invalid JSON"),
        (line(cluster="x" * 2000), "cluster"),
        (line(clean="x" * 100_001), "longer than 100,000"),
        (line(clean="x" * 10_000_000), "longer than 1,048,576 bytes"),
        (line(cluster="other"), "the same as line 1"),
    ],
)
def test_a_bad_line_is_refused_by_number_or_left_out_with_the_reason(
    tmp_path: Path, bad: str | bytes, why: str
) -> None:
    path = written(tmp_path, line(), bad, "", line(clean="France has its capital in", roles={}))
    with pytest.raises(BadRequest, match=r"mine\.jsonl: line 2: ") as refused:
        Pairs.load(path)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    kept = Pairs.load(path, drop=True)
    assert [pair.clean for pair in kept] == [GOOD["clean"], "France has its capital in"]
    [dropped] = kept.dropped
    assert dropped.number == 2
    assert why in dropped.reason


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, line(), *["{"] * 9)
    with pytest.raises(BadRequest, match=r"line 2: .*; line 6: .*; and 4 more"):
        Pairs.load(path)
    assert len(Pairs.load(path, drop=True).dropped) == 9


def test_an_end_may_stand_elsewhere_too(tmp_path: Path) -> None:
    clean, corrupt = "What is, is: Paris is", "What is, is: Rome is"
    path = written(tmp_path, line(clean=clean, corrupt=corrupt, roles={"end": " is"}))
    assert len(Pairs.load(path)) == 1


def test_a_file_without_pairs_is_no_collection(tmp_path: Path) -> None:
    for drop in (False, True):
        with pytest.raises(BadRequest, match="holds no pair"):
            Pairs.load(written(tmp_path), drop=drop)
    with pytest.raises(BadRequest, match="holds no pair: line 1: "):
        Pairs.load(written(tmp_path, "{"), drop=True)
    with pytest.raises(BadRequest, match="there is no file"):
        Pairs.load(tmp_path / "absent.jsonl")
    with pytest.raises(BadRequest, match="there is no file"):
        Pairs.load(tmp_path)


def test_a_file_that_is_too_large_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, line(), line(clean="In France it is"))
    monkeypatch.setattr(files, "FILE_BYTES", 100)
    with pytest.raises(BadRequest, match="at most 100 are read"):
        Pairs.load(path)


def test_a_last_line_needs_no_newline(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(line())
    assert Pairs.load(path)[0] == PromptPair.model_validate(GOOD)


def test_pairs_made_in_python_are_held_to_the_same() -> None:
    pair = PromptPair.model_validate(GOOD)
    assert len(Pairs.of([pair])) == 1
    with pytest.raises(BadRequest, match="pair 1: the same as pair 0"):
        Pairs.of([pair, pair])
    with pytest.raises(BadRequest, match="there are no pairs"):
        Pairs.of([])


def test_the_digest_is_of_every_pair_in_order() -> None:
    pairs = sonde.pairs("pronouns", n=6)
    assert Pairs.of(pairs[::-1]).digest != pairs.digest == Pairs.of(pairs).digest
