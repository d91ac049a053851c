"""One-forward-per-cell loops of other libraries, timed on request.

Runs in an environment of its own (`make bench` makes it), because peers pin other versions. Reads
one JSON request a line, {"library", "cells": [[layer, position], …]}, patches a fixed vector at
each, and answers {"seconds", "logprobs"}.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch


def transformer_lens(path: str, ids: torch.Tensor, vector: torch.Tensor) -> Callable[..., Any]:
    """TransformerLens: `run_with_hooks` on the residual stream leaving a block."""
    from transformer_lens.model_bridge import TransformerBridge

    model = TransformerBridge.boot_transformers(path, device="cpu", dtype=torch.float32)
    name = "hook_resid_post" if "blocks.0.hook_resid_post" in model.hook_dict else "hook_out"

    def cell(layer: int, position: int) -> Any:
        def write(value: torch.Tensor, hook: object) -> torch.Tensor:
            value[:, position] = vector
            return value

        out = model.run_with_hooks(ids, fwd_hooks=[(f"blocks.{layer}.{name}", write)])
        return out[0, -1].log_softmax(-1)

    return cell


def nnsight(path: str, ids: torch.Tensor, vector: torch.Tensor) -> Callable[..., Any]:
    """nnsight: one trace per cell."""
    from nnsight import LanguageModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path)
    hf = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    model = LanguageModel(hf, tokenizer=tokenizer)

    def cell(layer: int, position: int) -> Any:
        with model.trace(ids):
            model.model.layers[layer].output[:, position] = vector
            out = model.lm_head.output[0, -1].log_softmax(-1).save()
        return out  # noqa: RET504 - nnsight reads the block's source, which cannot return

    return cell


def main() -> None:
    """Answer requests until the input ends."""
    setup = json.loads(sys.stdin.readline())
    ids = torch.tensor([setup["tokens"]])
    vector = torch.tensor(setup["vector"])
    with torch.inference_mode():
        cells = {
            "transformer_lens": transformer_lens(setup["path"], ids, vector),
            "nnsight": nnsight(setup["path"], ids, vector),
        }
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            cell = cells[request["library"]]
            began = time.perf_counter()
            rows = [cell(layer, position) for layer, position in request["cells"]]
            took = time.perf_counter() - began
            logprobs = [float(row[setup["answer"]]) for row in rows]
            print(json.dumps({"seconds": took, "logprobs": logprobs}), flush=True)


if __name__ == "__main__":
    main()
