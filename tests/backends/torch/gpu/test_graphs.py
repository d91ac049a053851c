"""Work launched as a whole makes the bits of the same work launched piece by piece."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.gpu import graphs
from sonde.backends.torch.gpu.graphs import MOST_GRAPHS, Graphs, launch_now
from sonde.backends.torch.nested import tensors_in
from sonde.backends.torch.path import Path, choose_path
from sonde.schema import CLASSIC_HOOKS, LAYER_HOOKS, Hook
from tests.architectures import ARCHITECTURES
from tests.backends.torch.tiny import backend_of, captured, from_run, prompt, scores, sites
from tests.engine.questions import request, summary_of
from tests.tiny_model import tiny_llama

ROOM = 2**30
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")


def on_gpu(name: str, *, room: int = ROOM, compile_layers: bool = False) -> Path:
    model = ARCHITECTURES[name].build().to("cuda", torch.bfloat16)
    return choose_path(model, graph_bytes=room, compile_layers=compile_layers)


def bits(nest: object) -> list[Tensor]:
    return [tensor.clone() for tensor in tensors_in(nest).values()]


def equal(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    return len(one) == len(other) and all(map(torch.equal, one, other))


def twice(given: Tensor) -> Tensor:
    return given * 2


def test_without_a_graph_work_is_simply_done() -> None:
    assert launch_now("shape", torch.ones(2), twice).tolist() == [2.0, 2.0]


def test_work_that_cannot_be_captured_is_done_as_before_and_the_reason_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_args: object) -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(graphs, "_captured", refuse)
    found = Graphs(ROOM)

    for number in range(4):
        assert (
            found.run("shape", torch.full((3,), float(number)), twice).tolist()
            == [2.0 * number] * 3
        )

    assert found.refused == "operation not permitted when stream is capturing"
    assert found.nbytes() == 0


def test_a_shape_whose_graph_does_not_fit_is_captured_once_and_not_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else every other run would pay for a capture that is thrown away."""
    captures = []

    def large(given: Tensor, compute: Callable[[Tensor], Tensor]) -> graphs._Captured:
        captures.append(given)
        made = compute(given)
        graph: Any = None
        return graphs._Captured(graph, compute, [given], made, tensors_in(made), ROOM + 1)

    monkeypatch.setattr(graphs, "_captured", large)
    monkeypatch.setattr(graphs, "_replay", lambda found, _: found.made)
    found = Graphs(ROOM)

    for _ in range(6):
        assert found.run("shape", torch.ones(3), twice).tolist() == [2.0, 2.0, 2.0]

    assert len(captures) == 1
    assert found.nbytes() == 0
    assert found.refused is None


def test_a_cpu_has_no_graphs() -> None:
    assert choose_path(ARCHITECTURES["llama"].build(), graph_bytes=ROOM).graphs is None


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("hooks", [(), LAYER_HOOKS])
@pytest.mark.parametrize("name", ["llama", "gemma3", "gpt2", "qwen3"])
def test_replayed_runs_have_the_bits_of_the_first_and_keep_them(
    name: str, hooks: Sequence[Hook]
) -> None:
    path = on_gpu(name)
    pairs = [[prompt(9, seed), prompt(20, seed + 9)] for seed in range(4)]
    expected = [[bits(t) for t in on_gpu(name, room=0).record(pair, hooks)] for pair in pairs]

    made = [path.record(pair, hooks) for pair in pairs]

    assert path.graphs is not None
    assert path.graphs.refused is None
    assert path.graphs.nbytes() > 0
    for pair, traces, first in zip(pairs, made, expected, strict=True):
        assert [list(trace.tokens) for trace in traces] == pair
        assert all(equal(bits(t), b) for t, b in zip(traces, first, strict=True))


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize(
    ("name", "can_be_captured"),
    [("llama", True), ("gemma3", True), ("gpt2", True), ("mixtral", False)],
)
def test_a_sweep_of_the_same_cells_has_its_own_numbers_each_time(
    name: str, can_be_captured: bool
) -> None:
    """A graph that kept an earlier prompt, or an earlier source, would repeat its numbers."""

    def grids(backend: TorchBackend) -> list[Tensor]:
        out = []
        for seed in range(4):
            run = captured(backend, "clean", prompt(12, seed))
            cells = from_run(run, sites(backend, 12))
            out.append(torch.from_numpy(scores(backend, prompt(12, seed + 9), cells)))
        return out

    model = ARCHITECTURES[name].build().to("cuda", torch.bfloat16)
    backend, plain = backend_of(model), backend_of(model)
    plain._scorer._path = replace(plain._path, graphs=None)

    found, expected = grids(backend), grids(plain)

    assert backend._path.graphs is not None
    assert (backend._path.graphs.refused is None) == can_be_captured
    assert (backend._path.graphs.nbytes() > 0) == can_be_captured
    assert equal(found, expected)
    assert not torch.equal(found[2], found[3])


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_whole_sweeps_with_controls_are_the_same_with_and_without(dtype: torch.dtype) -> None:
    model = tiny_llama().to("cuda", dtype)
    backend, plain = backend_of(model), backend_of(model)
    plain._scorer._path = replace(plain._path, graphs=None)
    prompts = [f"The tower of {place} is in" for place in ("Bonn", "Kyiv", "Lviv", "Bern")]
    assert len({len(backend.tokenize(each)) for each in prompts}) == 1  # or no shape comes twice

    for each in prompts:
        asked = request(
            prompt=each, clean_prompt="The tower of Metz is in",
            hooks=list(CLASSIC_HOOKS), layers=[0, 1], positions="all_prompt", answer_token="a",
        )  # fmt: skip
        found, expected = (summary_of(one, asked) for one in (backend, plain))
        assert found.hook_grids == expected.hook_grids
        assert (found.clean, found.corrupt) == (expected.clean, expected.corrupt)

    assert backend._path.graphs is not None
    assert backend._path.graphs.refused is None
    assert backend._path.graphs.nbytes() > 0


@pytest.mark.gpu
@needs_gpu
@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_compiled_layers_are_captured_too() -> None:
    path = on_gpu("llama", compile_layers=True)
    first = [bits(path.record([prompt(9, seed)], ())[0]) for seed in (1, 2)]

    again = [bits(path.record([prompt(9, seed)], ())[0]) for seed in (1, 2)]

    assert path.graphs is not None
    assert path.graphs.refused is None
    assert path.graphs.nbytes() > 0
    assert all(equal(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.gpu
@needs_gpu
def test_work_that_looks_at_its_numbers_is_done_as_before() -> None:
    def looks(given: Tensor) -> Tensor:
        assert given.sum().item() >= 0
        return given * 2

    found = Graphs(ROOM)

    for number in range(4):
        made = found.run("shape", torch.full((3,), float(number), device="cuda"), looks)
        assert made.tolist() == [2.0 * number] * 3

    assert found.refused is not None


@pytest.mark.gpu
@needs_gpu
def test_few_graphs_are_kept_and_none_beyond_the_memory_given() -> None:
    many, none = Graphs(ROOM), Graphs(1)
    for rows in range(1, 2 * MOST_GRAPHS):
        for _ in range(3):
            for found in (many, none):
                given = torch.full((rows,), 3.0, device="cuda")
                assert found.run(rows, given, twice).tolist() == [6.0] * rows

    assert len(many._captured) == MOST_GRAPHS
    assert none.nbytes() == 0
