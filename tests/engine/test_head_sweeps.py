"""Sweeps over heads: every set and source, cell by cell what a plain pass gives; or refused."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sonde.engine.plan import Limits
from sonde.engine.tables import sweep_table
from sonde.errors import BadRequest, HeadOutOfRange, SondeError, UnknownHook
from sonde.prompts import align
from sonde.schema import HEAD_HOOKS, HOOK_TABLE
from sonde.schema.table import SweepRequest, Table, TableSummary
from tests.architectures import ARCHITECTURES
from tests.backends.torch.head_reference import HeadEdit, HeadReference
from tests.backends.torch.tiny import prompt, tiny_backend

CLEAN, CORRUPT = prompt(9, 1), prompt(9, 1)[:2] + prompt(9, 2)[2:]
REFERENCE = [prompt(9, seed) for seed in (3, 4, 5)]
BACKEND = tiny_backend("llama")
EVERY = tuple(range(9))


@cache
def plain() -> HeadReference:
    return HeadReference(ARCHITECTURES["llama"].build())


def swept(limits: Limits | None = None, **fields: Any) -> TableSummary:
    asked: dict[str, Any] = {"corrupt": CORRUPT, "clean": CLEAN, "answer": [12]}
    asked |= {"hooks": list(HEAD_HOOKS), **fields}
    *_, last = sweep_table(BACKEND, SweepRequest(**asked), limits=limits or Limits())
    assert isinstance(last, TableSummary), last
    return last


Values = Callable[[str, int, int, tuple[int, ...]], Tensor]
"""Hook, layer, head and positions -> what is written there."""


@cache
def activations(tokens: tuple[int, ...]) -> list[dict[str, Tensor]]:
    return plain().activations(tokens)


def of_run(tokens: Sequence[int]) -> Values:
    held = activations(tuple(tokens))
    return lambda hook, layer, head, at: held[layer][hook][list(at), head]


def edits(
    hook: str, layers: Sequence[int], heads: Sequence[int], at: tuple[int, ...], values: Values
) -> list[HeadEdit]:
    return [
        HeadEdit(hook, layer, head, at, values(hook, layer, head, at))
        for layer in layers
        for head in heads
    ]


def sides(table: Table) -> Iterator[tuple[int, int, int | None]]:
    """Indices of layer, head and, where there is one, position."""
    shape = [len(axis.values) for axis in table.axes]
    for at in np.ndindex(*shape):
        yield at[0], at[1], at[2] if len(at) > 2 else None


def check(
    summary: TableSummary,
    values: Values,
    layers: Sequence[Sequence[int]],
    heads: Sequence[Sequence[int]],
) -> None:
    for table in summary.tables:
        runs = [
            edits(table.hook, layers[i], heads[j], EVERY if k is None else (k,), values)
            for i, j, k in sides(table)
        ]
        expected = plain().logprobs(CORRUPT, runs, [12])[:, 0].double().numpy()
        found = np.array(table.values["logprob"])
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0, err_msg=table.hook)


LAYERS = [[0], [1], [2]]


@pytest.mark.parametrize("positions", ["together", "each"])
def test_windows_of_layers_and_several_heads_at_once_equal_a_plain_pass(positions: str) -> None:
    summary = swept(layers="windows:2", heads=[1, [0, 1]], positions=positions)

    assert [axis.name for axis in summary.tables[0].axes][:2] == ["layer", "head"]
    assert summary.tables[0].axes[0].labels == ["0–1", "1–2", "2"]
    assert summary.tables[0].axes[1].labels == ["1", "0+1"]
    check(summary, of_run(CLEAN), [[0, 1], [1, 2], [2]], [[1], [0, 1]])


def test_heads_have_all_positions_together_if_nothing_is_said_and_key_heads_their_own_axis() -> (
    None
):
    summary = swept()

    shapes = {t.hook: [len(axis.values) for axis in t.axes] for t in summary.tables}
    assert shapes == {"z": [3, 4], "q": [3, 4], "k": [3, 2], "v": [3, 2], "pattern": [3, 4]}
    for table in summary.tables:
        of = [[h] for h in range(shapes[table.hook][1])]
        check(summary.model_copy(update={"tables": [table]}), of_run(CLEAN), LAYERS, of)


def test_all_heads_together_are_one_cell_a_layer() -> None:
    summary = swept(heads="together", hooks=["z", "k"])
    for table in summary.tables:
        n = 2 if table.hook == "k" else 4
        check(
            summary.model_copy(update={"tables": [table]}), of_run(CLEAN), LAYERS, [list(range(n))]
        )


def test_key_heads_may_be_written_for_one_reader_alone() -> None:
    summary = swept(hooks=["k", "v"], kv="reader", heads=[1, 3, [0, 2]])
    held = activations(tuple(CLEAN))
    for table in summary.tables:
        runs = [
            [
                HeadEdit(table.hook, i, r // 2, EVERY, held[i][table.hook][:, r // 2], (r,))
                for r in readers
            ]
            for i in range(3)
            for readers in ([1], [3], [0, 2])
        ]
        expected = plain().logprobs(CORRUPT, runs, [12])[:, 0].double().numpy()
        found = np.array(table.values["logprob"])
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


def test_zeros_and_means_of_every_hook_equal_a_plain_pass() -> None:
    def nothing(hook: str, layer: int, head: int, at: tuple[int, ...]) -> Tensor:
        return torch.zeros_like(of_run(CORRUPT)(hook, layer, head, at))

    def middle(hook: str, layer: int, head: int, at: tuple[int, ...]) -> Tensor:
        return torch.stack([of_run(t)(hook, layer, head, at) for t in REFERENCE]).mean(0)

    heads = [[0], [1]]
    check(swept(source="zero", clean=None, heads=[0, 1]), nothing, LAYERS, heads)
    found = swept(source="mean", reference=REFERENCE, clean=None, heads=[0, 1], positions="each")
    check(found, middle, LAYERS, heads)


def test_a_mean_has_a_digest_of_all_it_was_made_of() -> None:
    def digest(**fields: Any) -> str:
        asked = {"source": "mean", "reference": REFERENCE, "hooks": ["z"], "heads": [0]}
        return swept(**{**asked, **fields}).notes["mean"]

    first = digest()
    assert first.startswith("sha256:")
    assert first.endswith(" of 3 prompts, over position")
    assert digest() == first
    assert digest(alpha=0.5) == first
    others = [digest(reference=REFERENCE[:2]), digest(mean_over="tokens"), digest(layers=[0])]
    assert len({first, *others}) == 4


def test_what_is_resampled_is_one_of_the_prompts_whole() -> None:
    summary = swept(source="resample", reference=REFERENCE, clean=None, seed=3)
    drawn = set()
    for table in summary.tables:
        for (i, j, _), found in zip(sides(table), table.values["logprob"], strict=True):
            runs = [edits(table.hook, [i], [j], EVERY, of_run(tokens)) for tokens in REFERENCE]
            expected = plain().logprobs(CORRUPT, runs, [12])[:, 0].double().numpy()
            assert found is not None
            assert np.abs(expected - found).min() < 1e-5
            drawn.add(int(np.abs(expected - found).argmin()))
    assert drawn == {0, 1, 2}


MOVED = [*CLEAN[:3], 40, *CLEAN[3:]]


def test_values_and_sums_may_be_moved_to_other_positions() -> None:
    sources = align(MOVED, CORRUPT, pairing="mean").sources
    assert any(len(each) > 1 for each in sources.values())

    def moved(hook: str, layer: int, head: int, at: tuple[int, ...]) -> Tensor:
        held = activations(tuple(MOVED))[layer][hook]
        return torch.stack([held[list(sources[p]), head].mean(0) for p in at])

    summary = swept(clean=MOVED, pairing="mean", hooks=["z", "v"], heads=[0, 1])
    check(summary, moved, LAYERS, [[0], [1]])


@pytest.mark.parametrize("hook", [hook for hook in HEAD_HOOKS if HOOK_TABLE[hook].stays])
def test_what_holds_for_its_own_position_is_never_moved(hook: str) -> None:
    """Rotary angles, and weights one a key, mean something else elsewhere."""
    with pytest.raises(BadRequest, match=f"{hook} holds for its own position, and the prompts"):
        swept(clean=MOVED, pairing="proportional", hooks=["z", hook])


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"heads": [4], "hooks": ["z"]}, HeadOutOfRange,
         r"head 4 is out of range \[0, 4\) at z; this model has 4 there"),
        ({"heads": [3], "hooks": ["k"]}, HeadOutOfRange,
         r"head 3 is out of range \[0, 2\) at k; this model has 2 there, each read by 2 of its 4"),
        ({"heads": [4], "hooks": ["k"], "kv": "reader"}, HeadOutOfRange, r"head 4 is out of range"),
        ({"clean": CLEAN[:-1], "hooks": ["pattern"]}, BadRequest,
         "pattern holds for its own position, and the prompts have 8 and 9 tokens; give prompts"),
        ({"hooks": ["zz"]}, UnknownHook, "'zz' is not injectable.*'attn_out'.*'pattern'.*'z'"),
        ({"kv": "reader", "hooks": ["k"], "layers": "windows:2"}, BadRequest, "take kv='group'"),
        ({"source": "mean", "reference": REFERENCE, "mean_over": "tokens", "hooks": ["k"]},
         BadRequest, r"k holds for its own position .*; take mean_over='position', or leave k out"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_refused_in_a_line_that_says_what_can(
    fields: dict[str, Any], error: type[SondeError], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        swept(**fields)
    assert "\n" not in str(caught.value)


def test_too_many_cells_are_refused_by_number_and_together_they_are_few() -> None:
    few = Limits(cells=100)
    swept(few, hooks=["z"])
    with pytest.raises(
        BadRequest, match="a sweep of 108 cells; at most 100 .* heads .* positions='together'"
    ):
        swept(few, hooks=["z"], positions="each")
