"""What patches write comes from where they say, and from nowhere else."""

import numpy as np
import pytest
import torch

from sonde.backends.base import FromRun, FromVector, MeanOf, Write, write_at
from sonde.backends.torch.packed.sources import CapturedRun, changes_nothing, gather, keep
from sonde.backends.torch.packed.trace import Trace
from sonde.backends.torch.path import choose_path
from sonde.errors import BadVectors, UnknownSourceRun
from sonde.schema import LAYER_HOOKS, Hook
from tests.architectures import ARCHITECTURES, WIDTH
from tests.backends.torch.tiny import prompt, vector

N_TOKENS = 7


@pytest.fixture(scope="module")
def trace() -> Trace:
    path = choose_path(ARCHITECTURES["llama"].build())
    return path.record([prompt(N_TOKENS, 1)], LAYER_HOOKS)[0]


@pytest.fixture(scope="module")
def run(trace: Trace) -> CapturedRun:
    """Layers 2 and 0, positions 5, 1 and 3, in that order."""
    return keep(trace, ("pre_attn", "mlp_in"), [2, 0], [5, 1, 3])


def patch(hook: Hook, layer: int, *positions: int, alpha: float = 1.0) -> Write:
    each = tuple(FromRun("clean", (position,)) for position in positions)
    return write_at(hook, layer, 4, each[0] if len(each) == 1 else MeanOf(each), alpha)


def test_a_run_holds_what_was_asked_for_in_any_order(trace: Trace, run: CapturedRun) -> None:
    runs = {"clean": run}
    patches = [patch("mlp_in", 0, 3), patch("pre_attn", 2, 5), patch("mlp_in", 2, 1)]

    values = gather(patches, runs, trace.residuals).values

    assert values[0].equal(trace.at("mlp_in")[0, 3])
    assert values[1].equal(trace.at("pre_attn")[2, 5])
    assert values[2].equal(trace.at("mlp_in")[2, 1])
    assert run.nbytes() == 2 * 2 * 3 * WIDTH * 4


def test_several_positions_give_their_mean(trace: Trace, run: CapturedRun) -> None:
    at = trace.at("mlp_in")[0]

    both = gather([patch("mlp_in", 0, 1, 5), patch("mlp_in", 0, 3)], {"clean": run}, at)

    torch.testing.assert_close(both.values[0], (at[1] + at[5]) / 2)
    assert both.values[1].equal(at[3])


@pytest.mark.parametrize(
    ("wanted", "site"),
    [
        (patch("mlp_out", 0, 1), r"\(mlp_out, layer 0, position 1\)"),
        (patch("mlp_in", 1, 1), r"\(mlp_in, layer 1, position 1\)"),
        (patch("mlp_in", 0, 2), r"\(mlp_in, layer 0, position 2\)"),
    ],
)
def test_a_site_that_was_not_captured_is_named(
    wanted: Write, site: str, trace: Trace, run: CapturedRun
) -> None:
    message = f"patch source not found: run='clean' site={site}; it holds hooks"
    with pytest.raises(UnknownSourceRun, match=message):
        gather([wanted], {"clean": run}, trace.residuals)


def test_vectors_and_runs_may_be_mixed(trace: Trace, run: CapturedRun) -> None:
    given = vector(WIDTH)
    patches = [write_at("mlp_in", 0, 4, FromVector(given)), patch("mlp_in", 0, 1)]

    values = gather(patches, {"clean": run}, trace.residuals).values

    assert values[0].equal(torch.from_numpy(given))
    assert values[1].equal(trace.at("mlp_in")[0, 1])


def test_weights_are_alpha_times_mask(trace: Trace) -> None:
    mask = np.linspace(0, 1, WIDTH, dtype=np.float32)
    source = FromVector(vector(WIDTH))
    patches = [write_at("mlp_in", 0, 4, source, 0.5, mask), write_at("mlp_in", 0, 4, source, 0.5)]

    weight = gather(patches, {}, trace.residuals).weight

    assert weight is not None
    assert weight[0].equal(0.5 * torch.from_numpy(mask))
    assert weight[1].eq(0.5).all()


def test_replacing_outright_needs_no_weights(trace: Trace) -> None:
    outright = [write_at("mlp_in", 0, 4, FromVector(vector(WIDTH)))]
    assert gather(outright, {}, trace.residuals).weight is None


@pytest.mark.parametrize("field", ["values", "mask"])
def test_a_vector_of_another_width_is_refused(field: str, trace: Trace) -> None:
    short, right = vector(WIDTH - 1), vector(WIDTH)
    wrong = {
        "values": write_at("mlp_in", 0, 4, FromVector(short)),
        "mask": write_at("mlp_in", 0, 4, FromVector(right), 1.0, short),
    }[field]
    with pytest.raises(BadVectors, match=rf"width \({WIDTH - 1},\) != hook width {WIDTH}"):
        gather([wrong], {}, trace.residuals)


def test_a_patch_that_writes_what_is_there_is_recognised(trace: Trace) -> None:
    own = keep(trace, LAYER_HOOKS, range(3), range(N_TOKENS))
    same = [write_at(h, 1, 4, FromRun("own", (4,))) for h in LAYER_HOOKS]
    other = [write_at(h, 1, 4, FromRun("own", (3,))) for h in LAYER_HOOKS]
    idle = [write_at(h, 1, 4, FromRun("own", (3,)), 0.0) for h in LAYER_HOOKS]
    patches = [*same, *other, *idle]

    sources = gather(patches, {"own": own}, trace.residuals)
    found = changes_nothing(patches, sources, trace).tolist()

    n = len(LAYER_HOOKS)
    assert found == [True] * n + [False] * n + [True] * n
