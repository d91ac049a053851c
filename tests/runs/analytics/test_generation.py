import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sonde.errors import BadRequest, UnknownGeneration
from sonde.runs.analytics.generation import generation_page, generation_view, token_stretch
from sonde.schema.analytics import TokenFeatures
from tests.runs.analytics import plain
from tests.runs.analytics.conftest import Read


def same_tokens(tokens: list[TokenFeatures], records: list[plain.Record]) -> None:
    """Every record, and nothing else."""
    found = [
        {
            "token_index": token.token_index,
            "layer_index": layer.layer,
            "top_feature_indices": layer.features,
            "top_feature_activations": layer.activations,
            "reconstruction_loss": layer.loss,
        }
        for token in tokens
        for layer in token.layers
    ]
    expected = [{k: v for k, v in record.items() if k != "step"} for record in records]
    assert found == expected


@pytest.mark.parametrize("place", [0, 37, -1])
def test_a_generation_has_its_text_its_tokens_and_its_group(run: Read, place: int) -> None:
    truth = run.made.generations[place]
    view = generation_view(run.known, run.cursor, truth["generation_id"])
    shown = view.generation.model_dump()
    assert {name: truth[name] for name in shown if name in truth} == {
        name: value for name, value in shown.items() if name in truth
    }
    same_tokens(view.tokens, plain.of_generation(run.made.records, truth))
    assert [token.position for token in view.tokens] == list(range(truth["completion_tokens"]))
    group = [
        one["generation_id"]
        for one in run.made.generations
        if one["group_id"] == truth["group_id"] and one is not truth
    ]
    assert [one.generation_id for one in view.siblings] == group
    assert not view.more


def test_an_unknown_generation_is_an_error_that_says_so(run: Read, reference: Read) -> None:
    with pytest.raises(UnknownGeneration, match="'99-0'"):
        generation_view(run.known, run.cursor, "99-0")
    with pytest.raises(UnknownGeneration, match=r"generations\.jsonl"):
        generation_view(reference.known, reference.cursor, "1-0")


def test_tokens_can_be_had_of_runs_without_generations(reference: Read) -> None:
    found = token_stretch(reference.known, reference.cursor, 0, 100, 160)
    same_tokens(found.tokens, reference.made.records[20:32])
    few = token_stretch(reference.known, reference.cursor, 0, 100, 160, limit=7)
    same_tokens(few.tokens, reference.made.records[20:27])
    assert few.more
    assert token_stretch(reference.known, reference.cursor, 5, 0, 10).tokens == []
    with pytest.raises(BadRequest, match="no stretch"):
        token_stretch(reference.known, reference.cursor, 0, 10, 10)


def test_pages_go_from_the_newest_to_the_oldest_and_miss_none(run: Read) -> None:
    names: list[str] = []
    before = None
    while True:
        page = generation_page(run.known, limit=7, before=before)
        names += [one.generation_id for one in page.generations]
        if (before := page.next) is None:
            break
    assert names == [one["generation_id"] for one in reversed(run.made.generations)]
    assert page.total == len(names)


def test_a_list_can_be_of_passed_ones_of_some_steps_and_without_text(run: Read) -> None:
    page = generation_page(run.known, first_step=3, last_step=5, passed=True, text=False, limit=99)
    expected = [
        one["generation_id"]
        for one in reversed(run.made.generations)
        if 3 <= one["step"] <= 5 and one["gate"]
    ]
    assert [one.generation_id for one in page.generations] == expected
    assert {one.prompt for one in page.generations} == {None}


def test_a_file_that_was_rewritten_since_gives_no_text_rather_than_anothers(
    run: Read, tmp_path: Path
) -> None:
    moved = tmp_path / "generations.jsonl"
    shutil.copy(run.made.layout.generations, moved)
    known = replace(run.known, generations=replace(run.known.generations, path=moved))
    assert generation_page(known, limit=1).generations[0].prompt is not None
    moved.write_text("x" + moved.read_text())
    assert generation_page(known, limit=1).generations[0].prompt is None
    name = generation_page(known, limit=1).generations[0].generation_id
    whole = run.made.layout.generations.read_text()
    moved.write_text(whole.replace(f'"{name}"', '"' + "9" * len(name) + '"'))
    assert generation_page(known, limit=1).generations[0].prompt is None


def test_an_empty_list_says_what_is_missing(reference: Read) -> None:
    page = generation_page(reference.known)
    assert (page.generations, page.next) == ([], None)
    assert page.reason is not None
