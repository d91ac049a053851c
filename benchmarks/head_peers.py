"""TransformerLens' own head patching, timed and told on request.

Runs in the peers' environment (see `peers`). Is told the model and, with each line, two prompts:
{"clean", "corrupt", "answer", "foil", "hooks", "layers"?}. Answers {"seconds": {hook: …},
"grids": {hook: [layers][heads]}} of the logit difference, by the library's own functions
`get_act_patch_attn_head_*`, one head at all positions. Their clean run is not counted. With
"layers", a number, only the first of them; with "each", a list of [layer, position, head], those
cells, at one position.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from transformer_lens import patching
from transformer_lens.model_bridge import TransformerBridge

TOGETHER: dict[str, Callable[..., Any]] = {
    "z": patching.get_act_patch_attn_head_out_all_pos,
    "q": patching.get_act_patch_attn_head_q_all_pos,
    "k": patching.get_act_patch_attn_head_k_all_pos,
    "v": patching.get_act_patch_attn_head_v_all_pos,
    "pattern": patching.get_act_patch_attn_head_pattern_all_pos,
}
SETTERS: dict[str, Callable[..., Any]] = {
    "z": patching.layer_pos_head_vector_patch_setter,
    "q": patching.layer_pos_head_vector_patch_setter,
    "pattern": patching.layer_head_pos_pattern_patch_setter,
}


def difference(logits: torch.Tensor, answer: int, foil: int) -> torch.Tensor:
    """What answer and foil differ by after the last position."""
    return logits[0, -1, answer] - logits[0, -1, foil]


def some_cells(
    model: Any, corrupt: Any, cache: Any, metric: Any, hook: str, cells: Sequence[Sequence[int]]
) -> list[float]:
    """Cells of one head at one position: (layer, position, head), as its setters take them."""
    import pandas as pd  # type: ignore[import-untyped]

    names = ["layer", "pos", "head"]
    rows = [list(cell) for cell in cells]
    if hook == "pattern":
        names, rows = ["layer", "head", "dest"], [[layer, head, at] for layer, at, head in rows]
    found: list[float] = patching.generic_activation_patch(
        model, corrupt, cache, metric, SETTERS[hook], hook,
        index_df=pd.DataFrame(rows, columns=names),
    ).tolist()  # fmt: skip
    return found


@contextmanager
def first_layers(model: Any, n: int) -> Iterator[None]:
    """Inside the block its functions go over the first layers: a cell costs as much at any."""
    every, model.cfg.n_layers = model.cfg.n_layers, n
    try:
        yield
    finally:
        model.cfg.n_layers = every


@torch.no_grad()
def answer(model: Any, request: dict[str, Any]) -> dict[str, Any]:
    """One request, one answer."""
    clean, corrupt = (torch.tensor([request[name]]) for name in ("clean", "corrupt"))
    metric = partial(difference, answer=request["answer"], foil=request["foil"])
    _, cache = model.run_with_cache(clean)
    seconds: dict[str, float] = {}
    grids: dict[str, Any] = {}
    for hook in request["hooks"]:
        began = time.perf_counter()
        if "each" in request:
            grids[hook] = some_cells(model, corrupt, cache, metric, hook, request["each"])
        else:
            with first_layers(model, request.get("layers", model.cfg.n_layers)):
                grids[hook] = TOGETHER[hook](model, corrupt, cache, metric).tolist()
        seconds[hook] = time.perf_counter() - began
    return {"seconds": seconds, "grids": grids}


def main() -> None:
    """Answer requests until the input ends."""
    setup = json.loads(sys.stdin.readline())
    model = TransformerBridge.boot_transformers(setup["path"], device="cpu", dtype=torch.float32)
    print(json.dumps({"loops": list(TOGETHER)}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(model, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
