"""What is wrong with a call is said before anything runs."""

import numpy as np
import pytest

from sonde.backends.base import FromVector, GenerateRequest, Row, Site, Write, write_at
from sonde.errors import BadRequest, LayerOutOfRange, PositionOutOfRange, UnknownHook
from sonde.schema import LAYER_HOOKS, Hook
from tests.architectures import WIDTH
from tests.backends.torch.tiny import IDS, captured, prompt, scores, tiny_backend, vector


def row(*sites: tuple[Hook, int, int]) -> Row:
    return Row(tuple(write_at(h, layer, p, FromVector(vector(WIDTH))) for h, layer, p in sites))


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], "the prompt has no tokens"),
        ([5] * 65, "the prompt has 65 tokens; tiny takes at most 64: shorten it"),
        ([5, 97], r"token id 97 is outside the vocabulary \[0, 97\)"),
        ([-1, 5], "token id -1 is outside the vocabulary"),
    ],
)
def test_a_prompt_that_cannot_be_run_is_refused(tokens: list[int], message: str) -> None:
    backend = tiny_backend()
    with pytest.raises(BadRequest, match=message):
        scores(backend, tokens, [Row()])
    with pytest.raises(BadRequest, match=message):
        backend.capture("clean", tokens, LAYER_HOOKS, [0], [0])
    with pytest.raises(BadRequest, match=message):
        backend.prepare([prompt(3, 1), tokens], LAYER_HOOKS)


@pytest.mark.parametrize("token", [-1, 97, 10**9])
def test_a_graded_token_outside_the_vocabulary_is_refused(token: int) -> None:
    """It has no logit, and whatever memory held would be taken for one."""
    with pytest.raises(BadRequest, match=f"token id {token} is outside the vocabulary"):
        scores(tiny_backend(), prompt(9, 1), [Row()], [5, token])


@pytest.mark.parametrize(
    ("site", "error", "message"),
    [
        (
            ("attn", 0, 0),
            UnknownHook,
            "'attn' is not injectable.*'mlp_in', 'mlp_out', 'pattern'",
        ),
        (("mlp_in", -1, 0), LayerOutOfRange, r"layer -1 is out of range \[0, 3\)"),
        (("mlp_in", 3, 0), LayerOutOfRange, r"layer 3 is out of range \[0, 3\)"),
        (("mlp_in", 0, -1), PositionOutOfRange, r"position -1 is out of range \[0, 9\)"),
        (("mlp_in", 0, 9), PositionOutOfRange, r"position 9 is out of range \[0, 9\)"),
    ],
)
def test_a_site_that_does_not_exist_is_refused_when_patched_and_when_captured(
    site: tuple[Hook, int, int], error: type[Exception], message: str
) -> None:
    backend, (hook, layer, position) = tiny_backend(), site
    with pytest.raises(error, match=message):
        scores(backend, prompt(9, 1), [row(site)])
    with pytest.raises(error, match=message):
        backend.capture("clean", prompt(9, 1), [hook], [layer], [position])
    assert backend.manifests() == {}


@pytest.mark.parametrize(
    ("hooks", "layers", "positions"),
    [([], [0], [0]), (LAYER_HOOKS, [], [0]), (LAYER_HOOKS, [0], [])],
)
def test_capturing_nothing_is_refused(
    hooks: list[Hook], layers: list[int], positions: list[int]
) -> None:
    with pytest.raises(BadRequest, match="nothing to capture"):
        tiny_backend().capture("clean", prompt(9, 1), hooks, layers, positions)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("mlp_in", 1, 4), ("mlp_in", 1, 4)),
        (("post_block", 0, 4), ("pre_attn", 1, 4)),
        (("pre_attn", 1, 4), ("post_block", 0, 4)),
    ],
)
def test_two_patches_at_one_place_in_one_row_are_refused(
    first: tuple[Hook, int, int], second: tuple[Hook, int, int]
) -> None:
    with pytest.raises(BadRequest, match="two patches write to .*, position 4"):
        scores(tiny_backend(), prompt(9, 1), [row(first, second)])


def test_one_write_may_not_name_a_position_twice() -> None:
    write = Write(Site("mlp_in", 1, (4, 2, 4)), FromVector(vector(WIDTH)))
    with pytest.raises(BadRequest, match="two patches write to mlp_in, layer 1, position 4"):
        scores(tiny_backend(), prompt(9, 1), [Row((write,))])


def test_patches_at_one_place_in_different_rows_are_two_cells() -> None:
    backend = tiny_backend()
    same = row(("mlp_in", 1, 4))

    found = scores(backend, prompt(9, 1), [same, row(("pre_attn", 1, 4), ("mlp_in", 1, 4)), same])

    assert (found[0] == found[2]).all()


def test_a_refused_call_leaves_nothing_behind() -> None:
    backend = tiny_backend()
    captured(backend, "clean", prompt(9, 1))
    with pytest.raises(LayerOutOfRange):
        backend.capture("clean", prompt(9, 2), LAYER_HOOKS, [7], [0])

    assert backend.manifests()["clean"].layers == [0, 1, 2]
    assert scores(backend, prompt(9, 1), [Row()], IDS).shape == (1, 2)


def test_a_completion_writes_to_no_head() -> None:
    write = Write(Site("z", 0, (0,), 1), FromVector(np.zeros(8, np.float32)))

    with pytest.raises(BadRequest, match="z is a hook of heads, which sweeps write to"):
        next(tiny_backend().generate(GenerateRequest((5, 6), writes=(write,))))
