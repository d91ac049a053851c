"""What every loader is held to: shapes, types, finite numbers, k, memory of our own."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from sonde.errors import BadRequest, BadWeights, NotSaid
from sonde.sae.activations import GroupMax, JumpRelu, Relu, TopK
from sonde.sae.build import FileFacts, checked, core, flipped, said_k, take
from tests.sae.formulas import D_IN, D_SAE, K, activations, dictionary

HERE = Path("weights.safetensors")
X = torch.from_numpy(activations())


def test_a_sound_draft_passes_as_it_is() -> None:
    built = checked(dictionary(), HERE, FileFacts())

    assert built.encode(X).values.equal(dictionary().encode(X).values)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_weights_become_float32_in_memory_of_their_own(dtype: torch.dtype) -> None:
    draft = dictionary()
    draft = draft.with_tensors({name: each.to(dtype) for name, each in draft.tensors().items()})

    built = checked(draft, HERE, FileFacts())
    draft.W_enc.zero_()

    assert {each.dtype for each in built.tensors().values()} == {torch.float32}
    assert built.W_enc.count_nonzero() > 0


@pytest.mark.parametrize(
    ("name", "tensor", "found", "expected"),
    [
        ("W_dec", torch.ones(D_IN, D_SAE), r"b_enc|W_dec", "expected"),
        ("W_dec", torch.ones(D_SAE + 1, D_IN), r"\[41, 12\]", r"\[40, 12\]"),
        ("b_enc", torch.ones(D_SAE - 1), r"b_enc has shape \[39\]", r"\[40\]"),
        ("b_dec", torch.ones(1, D_IN), r"b_dec has shape \[1, 12\]", r"\[12\]"),
        ("W_enc", torch.ones(3), r"W_enc has shape \[3\]", "a matrix"),
        ("W_enc", torch.ones(0, D_SAE), r"\[0, 40\]", "a matrix"),
        ("W_enc", torch.ones(D_IN, D_SAE, dtype=torch.int8), "W_enc is int8", "float32"),
        ("b_dec", torch.ones(D_IN, dtype=torch.bool), "b_dec is bool", "float32"),
    ],
)
def test_what_does_not_fit_is_named_with_what_would(
    name: str, tensor: Tensor, found: str, expected: str
) -> None:
    draft = dictionary()
    draft = draft.with_tensors({**draft.tensors(), name: tensor})

    with pytest.raises(BadWeights, match=rf"weights.safetensors.*{found}.*{expected}"):
        checked(draft, HERE, FileFacts())


@pytest.mark.parametrize("name", ["W_enc", "b_enc", "W_dec", "b_dec", "threshold"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_are_refused_with_tensor_and_count(
    name: str, bad: float
) -> None:
    draft = dictionary(JumpRelu(torch.ones(D_SAE)))
    draft.tensors()[name].view(-1)[:2] = bad

    with pytest.raises(BadWeights, match=f"{name} has 2 of .* NaN or infinite"):
        checked(draft, HERE, FileFacts())


def test_numbers_beyond_float32_are_refused() -> None:
    draft = dictionary()
    draft = replace(draft, b_dec=draft.b_dec.double() * 1e300)

    with pytest.raises(BadWeights, match="infinite in float32"):
        checked(draft, HERE, FileFacts())


def test_another_width_than_the_models_is_refused() -> None:
    with pytest.raises(BadWeights, match=r"d_in 12.*expected d_in 576.*Without d_in="):
        checked(dictionary(), HERE, FileFacts(d_in=576))
    assert checked(dictionary(), HERE, FileFacts(d_in=D_IN)).d_in == D_IN


@pytest.mark.parametrize("k", [0, -1, D_SAE + 1])
def test_a_k_that_cannot_be_is_refused(k: int) -> None:
    with pytest.raises(BadWeights, match=f"k is {k}, expected 1 to 40"):
        checked(dictionary(TopK(k)), HERE, FileFacts())


def test_groups_must_be_equal_and_k_must_have_a_meaning() -> None:
    with pytest.raises(BadWeights, match="40 features do not make 7 equal groups"):
        checked(dictionary(GroupMax(7)), HERE, FileFacts())
    with pytest.raises(BadRequest, match="relu dictionary, which has no k; leave k out"):
        checked(dictionary(Relu()), HERE, FileFacts(k=5))


def test_a_bias_cannot_be_subtracted_from_another_width() -> None:
    draft = replace(
        dictionary(subtract_b_dec=True), W_dec=torch.ones(D_SAE, 9), b_dec=torch.ones(9)
    )

    with pytest.raises(BadWeights, match=r"b_dec \[9\] is to be subtracted"):
        checked(draft, HERE, FileFacts())


def test_what_the_caller_says_wins() -> None:
    built = checked(
        dictionary(hook="mlp_out", layer=3), HERE, FileFacts(hook="post_block", layer=0)
    )

    assert (built.hook, built.layer) == ("post_block", 0)


def test_k_is_said_or_asked_for() -> None:
    assert said_k(5, FileFacts(), HERE, "") == 5
    assert said_k(5, FileFacts(k=3), HERE, "") == 3
    with pytest.raises(NotSaid, match="no card; pass k="):
        said_k(None, FileFacts(), HERE, "no card")


def test_tensors_are_taken_by_the_names_a_file_gives_them() -> None:
    held = {"a": torch.ones(2), "b": torch.ones(2, 3), "n": 5, "k": torch.tensor(5)}

    assert [each.dim() for each in take(held, HERE, "b", "a")] == [2, 1]
    assert core(
        held, HERE, W_enc="b", b_enc="a", W_dec="b", b_dec="a"
    ).transposed().W_enc.shape == (3, 2)
    for name in ("c", "n", "k"):
        with pytest.raises(BadWeights, match=rf"expected tensors \['{name}'\], found \['a \[2\]'"):
            take(held, HERE, name)


def test_only_a_matrix_can_be_turned_round() -> None:
    assert flipped(torch.ones(2, 3)).shape == (3, 2)
    assert flipped(torch.ones(4)).shape == (4,)


def test_a_turned_matrix_is_kept_as_the_file_has_it_but_for_the_decoder() -> None:
    draft = dictionary()
    turned = draft.with_tensors(
        {name: each.T.contiguous().T for name, each in draft.tensors().items() if each.dim() == 2}
        | {"b_enc": draft.b_enc, "b_dec": draft.b_dec}
    )

    built = checked(turned, HERE, FileFacts())

    assert built.W_dec.is_contiguous()
    assert not built.W_enc.is_contiguous()
    assert built.encode(X).n_active.eq(K).all()
