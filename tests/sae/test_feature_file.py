"""Features in a compact file."""

import lzma
from pathlib import Path

import pytest

from sonde.errors import BadRequest
from sonde.sae.feature_file import FEATURES, read_feature, read_some, write_features
from sonde.schema.feature import Feature, Snippet


def made(number: int) -> Feature:
    snippet = Snippet(tokens=["The", " Eiffel", "\n"], heat="090", value=12.5)
    return Feature(
        feature=number, rate=0.25, promoted=[" Paris"], suppressed=["\x1b"], snippets=[snippet]
    )


def test_features_come_back_one_by_one_and_together(tmp_path: Path) -> None:
    path = tmp_path / FEATURES
    write_features(path, map(made, range(5)))
    assert read_some(path, range(5)) == [made(i) for i in range(5)]
    assert read_feature(path, 3) == made(3)
    assert read_some(path, [4, 0]) == [made(4), made(0)]
    assert [file.name for file in tmp_path.iterdir()] == [FEATURES]


@pytest.mark.parametrize("number", [-1, 5])
def test_a_feature_that_is_not_there_is_refused_with_how_many_there_are(
    tmp_path: Path, number: int
) -> None:
    write_features(tmp_path / FEATURES, map(made, range(5)))
    with pytest.raises(BadRequest, match=rf"feature {number} is out of range \[0, 5\)"):
        read_feature(tmp_path / FEATURES, number)


def test_a_folder_without_features_says_who_writes_them(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="sonde sae train"):
        read_feature(tmp_path / FEATURES, 0)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FEATURES
    path.write_bytes(b"not compressed")
    with pytest.raises(BadRequest, match="damaged"):
        read_feature(path, 0)
    write_features(path, [made(1)])
    with pytest.raises(BadRequest, match="has feature 1 in line 1"):
        read_feature(path, 0)
    path.write_bytes(lzma.compress(b'{"feature": 0}\n'))
    with pytest.raises(BadRequest, match="no feature"):
        read_feature(path, 0)


def test_a_file_is_unpacked_once_for_many_questions_and_again_when_it_was_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack, read = lzma.decompress, []

    def counted(data: bytes) -> bytes:
        read.append(len(data))
        return unpack(data)

    monkeypatch.setattr(lzma, "decompress", counted)
    path = tmp_path / FEATURES
    write_features(path, map(made, range(3)))
    first = [read_feature(path, number) for number in (0, 2, 1, 0)]
    assert len(read) == 1

    first[0].snippets.clear()
    assert read_feature(path, 0) == made(0), "what was handed out is the caller's own"

    write_features(path, map(made, range(5)))
    assert read_feature(path, 4) == made(4)
    assert len(read) == 2


def test_files_that_spell_snippets_out_are_read(tmp_path: Path) -> None:
    lines = "".join(f"{made(i).model_dump_json()}\n" for i in range(3))
    (tmp_path / FEATURES).write_bytes(lzma.compress(lines.encode()))
    assert read_some(tmp_path / FEATURES, range(3)) == [made(i) for i in range(3)]


def test_text_that_many_snippets_share_is_written_once(tmp_path: Path) -> None:
    words = [f" word{i}" for i in range(60)]
    features = [
        made(i).model_copy(
            update={
                "snippets": [
                    Snippet(tokens=words[at : at + 15], heat="9" * 15, value=float(i), part="low")
                    for at in range(i, 40 + i)
                ]
            }
        )
        for i in range(5)
    ]
    write_features(tmp_path / FEATURES, features)
    assert read_some(tmp_path / FEATURES, range(5)) == features
    text = lzma.decompress((tmp_path / FEATURES).read_bytes())
    assert text.count(b" word20") == 1


def test_a_snippet_outside_the_text_is_refused(tmp_path: Path) -> None:
    write_features(tmp_path / FEATURES, [made(0)])
    text = lzma.decompress((tmp_path / FEATURES).read_bytes())
    (tmp_path / FEATURES).write_bytes(lzma.compress(text.replace(b'"at":[0]', b'"at":[1]')))
    with pytest.raises(BadRequest, match="no feature"):
        read_feature(tmp_path / FEATURES, 0)
