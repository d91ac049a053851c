"""What share of the machine's matrix-product rate a sweep reaches.

Needed operations over (time × measured GEMM rate). Needed are the products of the cells that can
differ from the baseline: full rows below the last layer, keys and values of all rows and one query
in it, and the unembedding. Cells with an identical source are not counted as needed, and neither
are the clean run, the baseline, the noise row or the controls, though their time is.

    make bench
"""

import json
from functools import partial

import torch
import torch.nn.functional as F

import sonde
from benchmarks.machine import median, seconds, write
from benchmarks.sweep_rate import PAIR, sweep
from sonde.backends.torch.backend import TorchBackend


def gemm_rate() -> float:
    """The best rate of large products: square, and in the model's own shapes."""
    best = 0.0
    with torch.inference_mode():
        for m, k, n in ((2048, 2048, 2048), (1024, 576, 1536), (1024, 1536, 576)):
            a, b = torch.randn(m, k), torch.randn(n, k)
            F.linear(a, b)
            took = min(seconds(partial(F.linear, a, b)) for _ in range(15))
            best = max(best, 2 * m * k * n / took)
    return best


def needed_flops(n_layers: int, n_tokens: int, first: int) -> float:
    """Operations of the cells at `post_block`, positions from `first` on."""
    width, inner, kv, vocabulary = 576, 1536, 192, 49152
    row = 2 * (2 * width * width + 2 * width * kv + 3 * width * inner)
    keys = 2 * 2 * width * kv
    rows = sum(n_tokens - p for p in range(first, n_tokens))
    starts = n_tokens - first
    middle = sum(n_layers - 2 - layer for layer in range(n_layers - 1)) * rows * row
    last = (n_layers - 1) * (rows * keys + starts * (row - keys))
    return float(middle + last + ((n_layers - 1) * starts + 1) * 2 * width * vocabulary)


def main() -> None:
    """Measure, print, keep."""
    model = sonde.load("smollm2")
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    clean, corrupt = backend.tokenize(PAIR.clean), backend.tokenize(PAIR.corrupt)
    first = next(i for i, (a, b) in enumerate(zip(clean, corrupt, strict=True)) if a != b)
    flops = needed_flops(30, len(corrupt), first)
    sweep(model)
    rates, times = [], []
    for _ in range(7):
        rates.append(gemm_rate())
        times.append(seconds(lambda: sweep(model)))
    result = {
        "gemm_gflops": median(rates) / 1e9,
        "needed_gflop": flops / 1e9,
        "sweep_seconds": median(times),
        "share_of_gemm_rate": flops / median(times) / median(rates),
        "best_share": max(flops / t / r for t, r in zip(times, rates, strict=True)),
    }
    write("roofline", result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
