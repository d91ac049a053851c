"""Edges on one GPU: direct effects of many pairs in GPT-2 small's shape, memory in an 8B's shape.

    python -m benchmarks.gpu_edges --pairs 5000

1. `direct`  the direct effect of each of 144 heads on the logits, attention and MLPs off the path
             as they are: random weights, agreement pairs in their own words, one call.
2. `memory`  the most bytes beside the weights that scoring all edges of an 8B-shaped Llama takes,
             one pair of 64 random tokens, bfloat16; and how long it takes.

Random weights have the shapes, and so the speed, of trained ones. Prints one JSON object.
"""

import argparse
import json
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import sonde
from benchmarks.gpu_sweep import Tokenless, build
from benchmarks.machine import seconds
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.load import load_model
from sonde.backends.torch.loading.loaded import Loaded

TOKENS = 64


def direct(n_pairs: int, dtype: str) -> dict[str, Any]:
    """Direct effects of every head over so many pairs: first a few to warm up, then all."""
    words = load_model("smollm2", device="cpu")
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=50257, n_embd=768, n_layer=12, n_head=12, n_positions=1024)
    small = GPT2LMHeadModel(config).to("cuda", getattr(torch, dtype)).eval().requires_grad_(False)
    loaded = Loaded("gpt2-small-shaped", small, words.tokenizer, "random", dtype, "cuda")
    model = sonde.Model(TorchBackend(loaded, memory_budget=30 * 2**30))
    pairs = list(sonde.pairs("agreement", n=n_pairs, seed=0))

    def run(some: list[Any]) -> None:
        model.sweep(
            pairs=some, senders=["z"], receivers=["logits"], frozen="path",
            metric="logit_diff", drop_wrong=False,
        )  # fmt: skip

    run(pairs[:64])
    a_few = seconds(lambda: run(pairs[:500]))
    return {
        "pairs": len(pairs), "heads": 144, "dtype": dtype, "seconds_of_500": a_few,
        "seconds": seconds(lambda: run(pairs)),
    }  # fmt: skip


def memory() -> dict[str, Any]:
    """Scoring every edge of an 8B shape, at every position of one pair."""
    made = build(torch.bfloat16, 32)
    loaded = Loaded(
        "llama-8b-shaped", made, SimpleNamespace(eos_token_id=None), "random", "bfloat16", "cuda"
    )
    model = sonde.Model(Tokenless(loaded, memory_budget=40 * 2**30))
    clean, corrupt = torch.randint(0, 128256, (2, TOKENS)).tolist()
    asked: dict[str, Any] = {
        "clean": clean, "corrupt": corrupt, "answer": 5, "foil": 50, "verify": 0, "sample": 0,
        "targets": "edges",
    }  # fmt: skip
    told: dict[str, Any] = {"tokens": TOKENS, "weights_gib": torch.cuda.memory_allocated() / 2**30}
    for method in ("eap", "eap-ig"):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        told[method] = {
            "seconds": seconds(partial(model.attribute, **asked, method=method)),
            "gib": (torch.cuda.max_memory_allocated() - before) / 2**30,
        }
    return told


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=5000)
    options.add_argument("--dtype", default="float32")
    options.add_argument("--only", choices=["direct", "memory"])
    asked = options.parse_args()
    told: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    if asked.only != "memory":
        told["direct"] = direct(asked.pairs, asked.dtype)
        print(json.dumps(told), flush=True)
    if asked.only != "direct":
        told["memory"] = memory()
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
