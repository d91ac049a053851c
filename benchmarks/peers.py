"""One-forward-per-cell loops of other libraries, timed on request.

Runs in an environment of its own (`make bench` makes it), because peers pin other versions. Is told
the prompts once, then reads one JSON request a line, {"loop", "cells": [[layer, position], …]},
patches what the clean run has at each, and answers {"seconds", "logprobs"}.

Each library in two forms: as its documentation writes the loop, and as lean as its interface
allows.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

Loop = Callable[[Sequence[tuple[int, int]]], list[float]]
"""(layer, position) of each cell -> the answer's log-probabilities."""


def transformer_lens(path: str, clean: Any, corrupt: Any, answer: int) -> dict[str, Loop]:
    """TransformerLens: its own patching function, and bare `run_with_hooks`."""
    import pandas as pd  # type: ignore[import-untyped]
    from transformer_lens import patching
    from transformer_lens.model_bridge import TransformerBridge

    model = TransformerBridge.boot_transformers(path, device="cpu", dtype=torch.float32)
    with torch.no_grad():
        _, cache = model.run_with_cache(clean)

    def metric(logits: torch.Tensor) -> torch.Tensor:
        return logits[0, -1].log_softmax(-1)[answer]

    @torch.no_grad()
    def usual(cells: Sequence[tuple[int, int]]) -> list[float]:
        found: list[float] = patching.generic_activation_patch(
            model, corrupt, cache, metric, patching.layer_pos_patch_setter, "resid_post",
            index_df=pd.DataFrame(cells, columns=["layer", "pos"]),
        ).tolist()  # fmt: skip
        return found

    @torch.inference_mode()
    def leanest(cells: Sequence[tuple[int, int]]) -> list[float]:
        found = []
        for layer, position in cells:
            source = cache["resid_post", layer][:, position]

            def write(
                value: torch.Tensor, hook: object, at: int = position, to: torch.Tensor = source
            ) -> torch.Tensor:
                value[:, at] = to
                return value

            name = f"blocks.{layer}.hook_resid_post"
            found.append(metric(model.run_with_hooks(corrupt, fwd_hooks=[(name, write)])))
        return torch.stack(found).tolist()

    return {"transformer_lens": usual, "transformer_lens_leanest": leanest}


def nnsight(path: str, clean: Any, corrupt: Any, answer: int, text: str) -> dict[str, Loop]:
    """nnsight: one trace per cell, of the prompt's `text` or of its tokens."""
    import nnsight as nns
    from nnsight import LanguageModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path)
    hf = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    model = LanguageModel(hf, tokenizer=tokenizer)
    with torch.no_grad(), model.trace(clean):
        held = nns.save([])
        for block in model.model.layers:
            held.append(block.output)

    @torch.no_grad()
    def usual(cells: Sequence[tuple[int, int]]) -> list[float]:
        found = []
        for layer, position in cells:
            with model.trace(text):
                model.model.layers[layer].output[:, position] = held[layer][:, position]
                out = model.lm_head.output[0, -1].log_softmax(-1)[answer].save()
            found.append(float(out))
        return found

    @torch.inference_mode()
    def leanest(cells: Sequence[tuple[int, int]]) -> list[float]:
        found = []
        for layer, position in cells:
            with model.trace(corrupt, use_cache=False, logits_to_keep=1):
                model.model.layers[layer].output[:, position] = held[layer][:, position]
                out = model.lm_head.output[0, -1].log_softmax(-1)[answer].save()
            found.append(out)
        return torch.stack(found).tolist()

    return {"nnsight": usual, "nnsight_leanest": leanest}


def main() -> None:
    """Answer requests until the input ends."""
    setup = json.loads(sys.stdin.readline())
    path, answer, text = setup["path"], setup["answer"], setup["text"]
    clean, corrupt = torch.tensor([setup["clean"]]), torch.tensor([setup["corrupt"]])
    loops = {
        **transformer_lens(path, clean, corrupt, answer),
        **nnsight(path, clean, corrupt, answer, text),
    }
    print(json.dumps({"loops": list(loops)}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        loop = loops[request["loop"]]
        began = time.perf_counter()
        logprobs = loop([tuple(cell) for cell in request["cells"]])
        took = time.perf_counter() - began
        print(json.dumps({"seconds": took, "logprobs": logprobs}), flush=True)


if __name__ == "__main__":
    main()
