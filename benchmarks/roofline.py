"""What share of the machine's matrix-product rate a sweep reaches.

Needed operations over (time × measured GEMM rate). The rate is that of the fastest product here:
the ordinary one, or the one whose weights are laid out beforehand, which the sweep itself uses.
Needed are the products of the cells that can differ from the baseline: full rows below the last
layer, keys and values of all rows and one query in it, and the unembedding. Cells with an identical
source are not counted as needed, and neither are the clean run, the baseline, the noise row or the
controls, though their time is.

How fast it could be with these products is measured too: all the sweep's own products, and nothing
else, on the same rows by the same threads.

    make bench
"""

import json
import threading
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from unittest import mock

import torch
import torch.nn.functional as F

import sonde
from benchmarks.machine import median, seconds, write
from benchmarks.sweep_rate import PAIR, sweep
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.cpu.products import LaidOut
from sonde.backends.torch.cpu.threads import each_by_one_thread

Products = list[tuple[LaidOut, torch.Tensor]]
ROUNDS = 15


def gemm_rates() -> dict[str, float]:
    """The best rates of large products: ordinary ones, and with weights laid out beforehand.

    Square ones, and in the model's own shapes.
    """
    best = {"ordinary": 0.0, "laid_out": 0.0}
    with torch.inference_mode():
        for m, k, n in ((2048, 2048, 2048), (1024, 576, 1536), (1024, 1536, 576)):
            a, b = torch.randn(m, k), torch.randn(n, k)
            products = {"ordinary": partial(F.linear, a, b), "laid_out": partial(LaidOut(b), a)}
            for name, product in products.items():
                product()
                took = min(seconds(product) for _ in range(15))
                best[name] = max(best[name], 2 * m * k * n / took)
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


def products_of(work: Callable[[], object]) -> Callable[[], None]:
    """All products that some work makes, to be made again without the rest of it.

    Those that all threads share come first; then each thread makes those that were its own.
    """
    shared: Products = []
    own: dict[int, Products] = defaultdict(list)
    product = LaidOut.__call__

    def noted(self: LaidOut, rows: torch.Tensor) -> torch.Tensor:
        alone = torch.get_num_threads() == 1
        (own[threading.get_ident()] if alone else shared).append((self, rows.clone()))
        return product(self, rows)

    with mock.patch.object(LaidOut, "__call__", noted):
        work()

    def make(some: Products) -> None:
        for weight, rows in some:
            weight(rows)

    def again() -> None:
        with torch.inference_mode():
            make(shared)
            each_by_one_thread(make, list(own.values()), len(own))

    return again


def main() -> None:
    """Measure, print, keep."""
    model = sonde.load("smollm2")
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    clean, corrupt = backend.tokenize(PAIR.clean), backend.tokenize(PAIR.corrupt)
    first = next(i for i, (a, b) in enumerate(zip(clean, corrupt, strict=True)) if a != b)
    flops = needed_flops(30, len(corrupt), first)
    sweep(model)
    products = products_of(lambda: sweep(model))
    rounds = [
        (gemm_rates(), seconds(lambda: sweep(model)), seconds(products)) for _ in range(ROUNDS)
    ]
    took = median([seconds_ for _, seconds_, _ in rounds])
    rates = {name: median([rate[name] for rate, *_ in rounds]) for name in rounds[0][0]}
    fastest = [(max(rate.values()), seconds_) for rate, seconds_, _ in rounds]
    result = {
        "gemm_gflops": {name: rate / 1e9 for name, rate in rates.items()},
        "needed_gflop": flops / 1e9,
        "sweep_seconds": took,
        "share_of_gemm_rate": flops / took / max(rates.values()),
        "share_of_ordinary_rate": flops / took / rates["ordinary"],
        "best_share": max(flops / seconds_ / rate for rate, seconds_ in fastest),
        "products_alone_seconds": median([alone for *_, alone in rounds]),
        "products_alone_share_of_sweep": median([alone / whole for _, whole, alone in rounds]),
    }
    write("roofline", result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
