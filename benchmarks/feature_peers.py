"""One nnsight trace for each feature and position, timed on request.

Runs in the peers' environment (`make bench` makes it). Is told the model, the prompt and a layer,
then reads one JSON request a line, {"cells": [[position, [vector]], …]}: each vector is added to
what leaves that layer at that position. Answers {"seconds", "differences"}, of answer and foil.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

Cells = list[tuple[int, list[float]]]


def loops(setup: dict[str, Any]) -> dict[str, Callable[[Cells], list[float]]]:
    """As nnsight's documentation writes it, and as lean as its interface allows."""
    from nnsight import LanguageModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path, layer = setup["path"], setup["layer"]
    answer, foil = setup["answer"], setup["foil"]
    tokens = torch.tensor([setup["tokens"]])
    hf = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    model = LanguageModel(hf, tokenizer=AutoTokenizer.from_pretrained(path))

    @torch.no_grad()
    def usual(cells: Cells) -> list[float]:
        found = []
        for position, vector in cells:
            change = torch.tensor(vector)
            with model.trace(setup["text"]):
                model.model.layers[layer].output[:, position] += change
                logits = model.lm_head.output[0, -1].save()
            found.append(float(logits[answer] - logits[foil]))
        return found

    @torch.inference_mode()
    def leanest(cells: Cells) -> list[float]:
        found = []
        for position, vector in cells:
            change = torch.tensor(vector)
            with model.trace(tokens, use_cache=False, logits_to_keep=1):
                model.model.layers[layer].output[:, position] += change
                logits = model.lm_head.output[0, -1].save()
            found.append(float(logits[answer] - logits[foil]))
        return found

    return {"nnsight": usual, "nnsight_leanest": leanest}


def main() -> None:
    """Answer requests until the input ends."""
    known = loops(json.loads(sys.stdin.readline()))
    print(json.dumps({"loops": list(known)}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        began = time.perf_counter()
        differences = known[request["loop"]](request["cells"])
        took = time.perf_counter() - began
        print(json.dumps({"seconds": took, "differences": differences}), flush=True)


if __name__ == "__main__":
    main()
