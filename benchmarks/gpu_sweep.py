"""Sweeps of an 8B-shaped Llama on one GPU: against a hook loop, and against the GEMM rate.

Random weights in the shape of an 8B Llama. For each prompt length: the packed sweep, an ordinary
one-forward-per-cell hook loop (a sample of cells, extrapolated; as it is usually written, and as
lean as it can be), and the share of the measured matrix-product rate that the needed operations
reach. Prints one JSON object.

    python benchmarks/gpu_sweep.py --tokens 64 16 --compile
"""

import argparse
import cProfile
import json
import pstats
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median, quantiles
from types import SimpleNamespace
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks.hook_loop import HookLoop
from sonde.backends.base import FromRun, Row, Site, Work, Write, logprobs_of, write_at
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.loaded import Loaded
from sonde.schema import SpecialTokens

ROUNDS = 9


class Tokenless(TorchBackend):
    """Prompts are random tokens, so there is no tokenizer to ask."""

    special_tokens = SpecialTokens(before=[], after=[])


def build(dtype: torch.dtype, layers: int) -> LlamaForCausalLM:
    """An 8B-shaped Llama with random weights, on the GPU."""
    config = LlamaConfig(
        hidden_size=4096, intermediate_size=14336, num_hidden_layers=layers,
        num_attention_heads=32, num_key_value_heads=8, vocab_size=128256,
        max_position_embeddings=8192, tie_word_embeddings=False,
    )  # fmt: skip
    torch.manual_seed(0)
    with torch.device("cuda"):
        torch.set_default_dtype(dtype)
        model = LlamaForCausalLM(config)
        torch.set_default_dtype(torch.float32)
    return model.eval().requires_grad_(False)


def seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """Median time of a call, the device idle before and after."""
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        began = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2]


def gemm_rate(dtype: torch.dtype) -> float:
    """Operations per second of large matrix products on random data."""
    best = 0.0
    for m, k, n in ((8192, 8192, 8192), (16384, 4096, 14336), (16384, 14336, 4096)):
        a = torch.randn(m, k, device="cuda", dtype=dtype)
        b = torch.randn(n, k, device="cuda", dtype=dtype)
        for _ in range(3):
            torch.nn.functional.linear(a, b)
        took = seconds(partial(_products, a, b))
        best = max(best, 20 * m * k * n / took)
    return best


def _products(a: torch.Tensor, b: torch.Tensor) -> None:
    for _ in range(10):
        torch.nn.functional.linear(a, b)


def needed_flops(config: LlamaConfig, n_tokens: int) -> float:
    """Operations of the cells at `post_block`: full rows below the last layer, one query in it."""
    d, ff, kv = config.hidden_size, config.intermediate_size, 1024
    row = 2 * (2 * d * d + 2 * d * kv + 3 * d * ff)
    keys = 2 * (2 * d * kv)
    depth, rows = config.num_hidden_layers, n_tokens * (n_tokens + 1) // 2
    middle = sum(depth - 2 - layer for layer in range(depth - 1)) * rows * row
    last = (depth - 1) * (rows * keys + n_tokens * (row - keys))
    head = ((depth - 1) * n_tokens + 1) * 2 * d * config.vocab_size
    return float(middle + last + head)


def needed_flops_of_heads(config: LlamaConfig, n_tokens: int) -> float:
    """The same of one head's `z` at all positions, a cell a head, as far as a write can reach.

    In its own layer the output projection and the MLP of every row, above it whole rows, in the
    last layer keys and values of every row and the rest of one.
    """
    d, ff, kv = config.hidden_size, config.intermediate_size, 1024
    row = 2 * (2 * d * d + 2 * d * kv + 3 * d * ff)
    after, keys = 2 * (d * d + 3 * d * ff), 2 * (2 * d * kv)
    depth = config.num_hidden_layers
    below = sum(n_tokens * (after + (depth - 2 - layer) * row) for layer in range(depth - 1))
    last = (depth - 1) * (n_tokens * keys + row - keys) + after
    cells = config.num_attention_heads
    return float(cells * (below + last + depth * 2 * d * config.vocab_size))


def head_rows(config: LlamaConfig, n_tokens: int, run: str = "clean") -> list[Row]:
    """One row per (layer, head): its `z` at all positions, from a run."""
    everywhere = tuple(range(n_tokens))
    return [
        Row((Write(Site("z", layer, everywhere, head), FromRun(run, everywhere)),))
        for layer in range(config.num_hidden_layers)
        for head in range(config.num_attention_heads)
    ]


def sweep_rows(layers: int, n_tokens: int, run: str = "clean") -> list[Row]:
    """One row per (layer, position), patched from a run."""
    return [
        Row((write_at("post_block", layer, position, FromRun(run, (position,))),))
        for layer in range(layers)
        for position in range(n_tokens)
    ]


class Loops:
    """One hooked forward pass per cell, a sample of cells, in both forms."""

    def __init__(
        self, model: LlamaForCausalLM, tokens: list[int], clean: list[int], sample: int
    ) -> None:
        """Run each once, to warm up."""
        self._model, self._cells = model, [(i % 32, i % len(tokens)) for i in range(sample)]
        with self._own_attention():
            loop = HookLoop(model, tokens, clean, 1)
            self._forms = {"hook_loop": loop.usual, "hook_loop_leanest": loop.leanest}
        self.seconds_per_cell()

    def seconds_per_cell(self) -> dict[str, float]:
        """By form."""
        with self._own_attention():
            return {
                name: seconds(partial(form, self._cells), 1) / len(self._cells)
                for name, form in self._forms.items()
            }

    @contextmanager
    def _own_attention(self) -> Iterator[None]:
        self._model.set_attn_implementation("sdpa")
        yield
        self._model.set_attn_implementation("sonde")


def measure(
    backend: TorchBackend, model: LlamaForCausalLM, n_tokens: int, rate: float
) -> dict[str, Any]:
    """All numbers for one prompt length; a loop's are compared with the sweep right before it."""
    generator = torch.Generator().manual_seed(n_tokens)
    clean, corrupt = torch.randint(0, 128256, (2, n_tokens), generator=generator).tolist()
    depth = model.config.num_hidden_layers
    grid = sweep_rows(depth, n_tokens)

    def run() -> None:
        backend.forget()
        backend.prepare([clean, corrupt], ["post_block"])
        backend.capture("clean", clean, ["post_block"], range(depth), range(n_tokens))
        for _ in backend.score([Work(corrupt, grid, logprobs_of([1, 2]))]):
            pass

    def cells() -> None:
        for _ in backend.score([Work(corrupt, grid, logprobs_of([1, 2]))]):
            pass

    for _ in range(3):  # work that has come twice is launched as a whole
        run()
    loops = Loops(model, corrupt, clean, 24)
    rounds = [
        {
            "sweep": seconds(run, 3),  # their median: the first finds a device that has cooled
            "cells": seconds(cells, 1),
            **{name: took * len(grid) for name, took in loops.seconds_per_cell().items()},
        }
        for _ in range(ROUNDS)
    ]
    taken = {name: [each[name] for each in rounds] for name in rounds[0]}
    faster = {
        name: [a / b for a, b in zip(taken[name], taken["sweep"], strict=True)]
        for name in ("hook_loop", "hook_loop_leanest")
    }
    flops = needed_flops(model.config, n_tokens)
    return {
        "tokens": n_tokens, "cells": len(grid),
        **{f"{name}_s": median(times) for name, times in taken.items()},
        "times_faster": {name: median(ratios) for name, ratios in faster.items()},
        "middle_half": {name: quantiles(ratios, n=4)[::2] for name, ratios in faster.items()},
        "needed_tflop": flops / 1e12,
        "share_of_gemm": flops / median(taken["sweep"]) / rate,
        "share_of_gemm_cells": flops / median(taken["cells"]) / rate,
    }  # fmt: skip


def measure_pairs(
    backend: TorchBackend, model: LlamaForCausalLM, n_tokens: int, n_pairs: int, rate: float
) -> dict[str, Any]:
    """Many prompt pairs in one call, beside one pair alone, both with their unpatched runs."""
    generator = torch.Generator().manual_seed(n_tokens)
    shape = (n_pairs, 2, n_tokens)
    pairs = torch.randint(0, 128256, shape, generator=generator).tolist()
    depth = model.config.num_hidden_layers

    def run(some: list[Any]) -> None:
        backend.forget()
        asked = [(tokens, logprobs_of([1, 2])) for pair in some for tokens in pair]
        backend.baselines(asked, ["post_block"])

        def work() -> Iterator[Work]:  # as a sweep makes it: while other pairs run
            for i, (clean, corrupt) in enumerate(some):
                name = f"run-{i}"
                backend.capture(name, clean, ["post_block"], range(depth), range(n_tokens))
                yield Work(corrupt, sweep_rows(depth, n_tokens, name), logprobs_of([1, 2]))

        for _ in backend.score(work()):
            pass

    for _ in range(3):
        run(pairs)
        run(pairs[:1])
    rounds = [
        (seconds(partial(run, pairs), 1), seconds(partial(run, pairs[:1]), 3))
        for _ in range(ROUNDS)
    ]
    together, alone = (median([each[i] for each in rounds]) for i in range(2))
    flops = needed_flops(model.config, n_tokens)
    return {
        "tokens": n_tokens, "pairs": n_pairs, "cells_a_pair": depth * n_tokens,
        "together_s": together, "alone_s": alone,
        "times_faster_a_cell": median([n_pairs * one / all_ for all_, one in rounds]),
        "share_of_gemm_together": n_pairs * flops / together / rate,
        "share_of_gemm_alone": flops / alone / rate,
    }  # fmt: skip


def measure_heads(
    backend: TorchBackend, model: LlamaForCausalLM, n_tokens: int, n_pairs: int, rate: float
) -> dict[str, Any]:
    """Every head's `z` at all positions together, of one pair or of several, baselines included."""
    generator = torch.Generator().manual_seed(n_tokens)
    pairs = torch.randint(0, 128256, (n_pairs, 2, n_tokens), generator=generator).tolist()
    depth = model.config.num_hidden_layers

    def run() -> None:
        backend.forget()
        asked = [(tokens, logprobs_of([1, 2])) for pair in pairs for tokens in pair]
        backend.baselines(asked, ["z"])

        def work() -> Iterator[Work]:
            for i, (clean, corrupt) in enumerate(pairs):
                backend.capture(f"run-{i}", clean, ["z"], range(depth), range(n_tokens))
                rows = head_rows(model.config, n_tokens, f"run-{i}")
                yield Work(corrupt, rows, logprobs_of([1, 2]))

        for _ in backend.score(work()):
            pass

    for _ in range(2):
        run()
    took = median([seconds(run, 1) for _ in range(5)])
    flops = n_pairs * needed_flops_of_heads(model.config, n_tokens)
    return {
        "tokens": n_tokens, "pairs": n_pairs,
        "cells": n_pairs * depth * model.config.num_attention_heads,
        "sweep_s": took, "needed_tflop": flops / 1e12, "share_of_gemm": flops / took / rate,
    }  # fmt: skip


def noise(backend: TorchBackend, n_tokens: int) -> float:
    """Largest difference of an unpatched row among patched rows from the baseline alone."""
    tokens = torch.randint(0, 128256, (n_tokens,)).tolist()
    backend.capture("clean", tokens[::-1], ["post_block"], range(32), range(n_tokens))
    grid = [Row(computed=True), *sweep_rows(32, n_tokens)]
    alone = next(iter(backend.score([Work(tokens, [Row()], logprobs_of([1, 2]))]))).values[0]
    for scores in backend.score([Work(tokens, grid, logprobs_of([1, 2]))]):
        if 0 in scores.rows:
            return float(abs(scores.values[scores.rows.index(0)] - alone).max())
    return float("nan")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="*", default=[64, 16])
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--fixed-rows", action="store_true", help="batches of one shape")
    parser.add_argument("--pairs", type=int, default=0, help="so many in one call, of 16 tokens")
    parser.add_argument("--heads", action="store_true", help="every head, of one pair and of some")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    dtype = getattr(torch, options.dtype)
    model = build(dtype, 32)
    rate = gemm_rate(dtype)
    tokenizer: Any = SimpleNamespace(eos_token_id=None)
    loaded = Loaded("llama-8b-shaped", model, tokenizer, "random", options.dtype, "cuda")
    began = time.perf_counter()
    backend = Tokenless(
        loaded,
        compile_layers=options.compile,
        fixed_rows=options.fixed_rows,
        memory_budget=60 * 2**30,
    )
    out: dict[str, Any] = {
        "device": torch.cuda.get_device_name(), "torch": torch.__version__,
        "dtype": options.dtype, "compiled": options.compile, "fixed_rows": options.fixed_rows,
        "gemm_tflops": rate / 1e12, "load_s": time.perf_counter() - began,
        "exact": backend.describe().exact,
        "lengths": [measure(backend, model, n, rate) for n in options.tokens],
        "pairs": measure_pairs(backend, model, 16, options.pairs, rate) if options.pairs else None,
        "heads": [
            measure_heads(backend, model, n, pairs, rate)
            for n, pairs in ([(64, 1), (16, 8)] if options.heads else [])
        ],
        "noise_floor": noise(backend, 16),
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30,
    }  # fmt: skip
    print(json.dumps(out, indent=1))
    if options.profile:
        for n_tokens in options.tokens:
            _profile(backend, n_tokens)


def _profile(backend: TorchBackend, n_tokens: int) -> None:
    from torch.profiler import ProfilerActivity, profile

    generator = torch.Generator().manual_seed(n_tokens)
    clean, corrupt = torch.randint(0, 128256, (2, n_tokens), generator=generator).tolist()
    backend.capture("clean", clean, ["post_block"], range(32), range(n_tokens))
    grid = sweep_rows(32, n_tokens)
    for _ in backend.score([Work(corrupt, grid, logprobs_of([1, 2]))]):
        pass
    seen_by_python = cProfile.Profile()
    seen_by_python.enable()
    for _ in backend.score([Work(corrupt, grid, logprobs_of([1, 2]))]):
        pass
    seen_by_python.disable()
    pstats.Stats(seen_by_python).sort_stats("tottime").print_stats(25)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        for _ in backend.score([Work(corrupt, grid, logprobs_of([1, 2]))]):
            pass
    print(
        seen.key_averages().table(
            sort_by="self_cuda_time_total", row_limit=22, max_name_column_width=70
        )
    )


if __name__ == "__main__":
    main()
