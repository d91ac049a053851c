"""Where a result comes from."""

import pytest
from pydantic import ValidationError

from sonde.results import Provenance
from sonde.schema import ModelDescription, PatchSweepRequest, PatchVectors
from sonde.schema.table import SweepRequest
from tests.results.summaries import CREATED, SPECIAL, provenance

MODEL = ModelDescription(
    name="tiny/llama",
    architecture="LlamaForCausalLM",
    backend="torch",
    n_layers=4,
    width=8,
    vocabulary=32,
    max_tokens=64,
    hooks=["post_block"],
    end_ids=[0],
    special_tokens=SPECIAL,
    dtype="float32",
    device="cpu",
    weights="sha256:0123abcd",
    path="packed",
    path_reason=None,
    exact=True,
)


def test_it_is_made_from_the_model_and_the_request() -> None:
    request = PatchSweepRequest(prompt="a b", layers=[0], answer_token=" c")
    made = Provenance.of(MODEL, request, versions={"sonde": "0.1.0"}, created=CREATED)
    assert (made.model, made.weights, made.n_layers) == ("tiny/llama", "sha256:0123abcd", 4)
    assert made.special_tokens == SPECIAL
    assert made.request["prompt"] == "a b"
    assert made.asked("answer_token") == " c"
    assert "clean_prompt" not in made.request


def test_it_says_whether_bits_depended_on_the_batch() -> None:
    request = PatchSweepRequest(prompt="a", layers=[0])
    assert Provenance.of(MODEL, request, versions={}).exact is True
    inexact = MODEL.model_copy(update={"exact": False})
    assert Provenance.of(inexact, request, versions={}).exact is False
    assert provenance().exact is None  # made before this was kept


def test_without_a_time_it_is_made_now_and_the_time_has_a_zone() -> None:
    request = PatchSweepRequest(prompt="a", layers=[0])
    assert Provenance.of(MODEL, request, versions={}).created.tzinfo is not None


def test_vector_tables_are_recorded_by_their_digest() -> None:
    vectors = PatchVectors(dtype="float32", shape=[1, 2], data="AAAAAAAAAAA=")
    request = PatchSweepRequest(prompt="a", layers=[0], patch_vectors=vectors, source_inline=0)
    recorded = Provenance.of(MODEL, request, versions={}).request["patch_vectors"]
    assert isinstance(recorded, dict)
    assert recorded["shape"] == [1, 2]
    assert len(str(recorded["sha256"])) == 64
    assert "data" not in recorded


def test_a_field_that_is_not_text_is_not_taken_for_text() -> None:
    assert provenance(answer_token=7).asked("answer_token") is None


def test_nan_is_refused() -> None:
    with pytest.raises(ValidationError):
        provenance(alpha=float("nan"))


def test_a_general_request_is_recorded_in_its_own_words() -> None:
    request = SweepRequest(corrupt="a b", answer=[" c", 7], positions="together")
    made = Provenance.of(MODEL, request, versions={}, created=CREATED).request
    assert (made["corrupt"], made["answer"]) == ("a b", [" c", 7])
    assert made["positions"] == "together"
    assert "clean" not in made
