"""What selecting features costs on top of the matrix product that encoding is.

Encoding (product, bias, exact top-k, active features) and the bare float32 product of the same
tensors, in turns; times are medians, and so is the ratio; the ratio of the best of each is what is
left when nothing else runs. The product writes into memory that is there already, so that the
comparison is with the product alone. Before each there is a pause, because OpenMP threads keep a
core busy for some milliseconds after the work they shared; `ratio_at_once` is without it, as right
behind a forward pass. The k largest are compared with those a library's top-k finds.
CPU: the default model's shapes, 4,096 features with TopK; `--wide` has 16,384 with a threshold
for each, as BatchTopK with a cap is read, set so that 38 are active. CUDA: 4,096 → 65,536.

    python -m benchmarks.sae_encode
    python -m benchmarks.sae_encode --wide
    python -m benchmarks.sae_encode --device cuda --out sae_encode.json
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.machine import kept, local, machine, median
from sonde.sae.activations import JumpRelu, TopK
from sonde.sae.autoencoder import Autoencoder, exact_float32
from sonde.sae.encode import default_budget

SHAPES = {"cpu": (576, 4096, 64), "cuda": (4096, 65536, 100)}
"""Width, features, k."""
WIDE = (576, 16384, 38)
"""The next size to ship."""


def autoencoder(d_in: int, d_sae: int, k: int, device: str) -> Autoencoder:
    """Random weights; decoder rows are the encoder's columns."""
    draw = torch.Generator(device).manual_seed(0)
    W_enc = torch.randn(d_in, d_sae, generator=draw, device=device) / d_in**0.5
    return Autoencoder(
        W_enc=W_enc,
        b_enc=torch.randn(d_sae, generator=draw, device=device) / 10,
        W_dec=W_enc.T.contiguous(),
        b_dec=torch.randn(d_in, generator=draw, device=device) / 10,
        activation=TopK(k),
        subtract_b_dec=True,
    )


def with_thresholds(sae: Autoencoder, k: int) -> Autoencoder:
    """The same with a threshold for each feature, so high that k are active on random input."""
    draw = torch.Generator(sae.device).manual_seed(2)
    x = torch.randn(2048, sae.d_in, generator=draw, device=sae.device)
    pre = (x - sae.b_dec) @ sae.W_enc + sae.b_enc
    threshold = pre.quantile(1 - k / sae.d_sae, dim=0)
    return replace(sae, activation=JumpRelu(threshold))


PAUSE = 0.02


def seconds(run: Callable[[], object], device: str, pause: float = 0.0) -> float:
    """How long one call takes, the device idle before and after."""
    if device == "cuda":
        torch.cuda.synchronize()
    time.sleep(pause)
    began = time.perf_counter()
    run()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def peak_bytes(run: Callable[[], object]) -> int:
    """What a call takes on the GPU at its worst, beyond what was there."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def same_as_library(sae: Autoencoder, x: Tensor, product: Tensor) -> bool:
    """Whether the active features are those of a library on the dense block."""
    if isinstance(sae.activation, JumpRelu):
        with exact_float32(sae.device):
            torch.addmm(sae.b_enc, x - sae.b_dec, sae.W_enc, out=product)
        found = sae.encode(x).dense(sae.d_sae)
        wanted = product.where(product > sae.activation.threshold.relu(), 0.0)
        near = (product - sae.activation.threshold).abs() < 1e-5
        return torch.allclose(found.where(~near, 0.0), wanted.where(~near, 0.0), atol=1e-5)
    indices, values = sae.top_features(x, sae.d_sae)
    with exact_float32(sae.device):
        torch.addmm(sae.b_enc, x - sae.b_dec, sae.W_enc, out=product)
    expected = product.topk(values.shape[1]).values.relu()
    return torch.allclose(values, expected, rtol=1e-5, atol=1e-5) and torch.allclose(
        product.gather(1, indices).relu(), expected, rtol=1e-5, atol=1e-5
    )


def measure(
    device: str, tokens: int, repeats: int, budget: int | None, *, wide: bool = False
) -> dict[str, Any]:
    """All numbers for one device."""
    d_in, d_sae, k = WIDE if wide else SHAPES[device]
    sae = autoencoder(d_in, d_sae, k, device)
    sae = with_thresholds(sae, k) if wide else sae
    draw = torch.Generator(device).manual_seed(1)
    x = torch.randn(tokens, d_in, generator=draw, device=device)
    product = torch.empty(tokens, d_sae, device=device)
    budget = budget or default_budget(sae.device, d_sae)

    def encode() -> object:
        return sae.encode(x, budget_bytes=budget)

    def bare() -> object:
        with exact_float32(sae.device):
            return torch.mm(x, sae.W_enc, out=product)

    active = sae.encode(x, budget_bytes=budget)

    def in_turns(pause: float) -> list[tuple[float, float]]:
        both = [
            (seconds(bare, device, pause), seconds(encode, device, pause))
            for _ in range(repeats + 2)
        ]
        return both[2:]

    pairs, at_once = in_turns(PAUSE), in_turns(0.0)
    result = {
        "shape": f"{d_in} → {d_sae}, k {k}, {tokens} tokens",
        "activation": sae.activation.kind,
        "l0": float(active.n_active.float().mean()),
        "product_ms": 1e3 * median([product_s for product_s, _ in pairs]),
        "encode_ms": 1e3 * median([encode_s for _, encode_s in pairs]),
        "ratio": median([encode_s / product_s for product_s, encode_s in pairs]),
        "ratio_of_best": min(pair[1] for pair in pairs) / min(pair[0] for pair in pairs),
        "ratio_at_once": median([encode_s / product_s for product_s, encode_s in at_once]),
        "library_topk_ms": 1e3 * seconds(lambda: product.topk(k), device),
        "decode_ms": 1e3 * median([seconds(lambda: sae.decode(active), device) for _ in range(5)]),
        "budget_mib": budget / 2**20,
        "same_as_library": same_as_library(sae, x, product),
    }
    if device == "cuda":
        peak = peak_bytes(encode)
        result |= {"peak_mib": peak / 2**20, "within_budget": peak <= budget}
    return result


def main() -> None:
    """Measure, print, keep beside what was measured on other devices."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=SHAPES, default="cpu")
    parser.add_argument("--wide", action="store_true", help="16,384 features, by thresholds")
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--budget-mib", type=int)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    budget = asked.budget_mib and asked.budget_mib * 2**20
    about = machine()
    if asked.device == "cuda":
        about["gpu"] = torch.cuda.get_device_name()
    found = measure(asked.device, asked.tokens, asked.repeats, budget, wide=asked.wide)
    result = {"machine": about, **found}
    parts = kept("sae_encode") | {f"{asked.device}-wide" if asked.wide else asked.device: result}
    (asked.out or local("sae_encode")).write_text(json.dumps(parts, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
