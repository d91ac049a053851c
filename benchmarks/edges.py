"""Edges of the default model: all of them attributed, some verified, direct effects, memory.

    python -m benchmarks.edges                  # all of it: some minutes
    python -m benchmarks.edges --pairs 4 --many 20

1. `attributed`  70,651 edges of each of 20 agreement pairs by eap-ig (5 points), and 400 edges of
   each run to verify the means.
2. `direct`      the direct effect of every head on the logits, 200 pairs.
3. `nodes`       all heads and MLPs of one pair to first order, in forward passes of the pair's
   prompt, as the model's own code makes them, timed in turns.
4. `memory`      the most bytes beside the weights that scoring all edges takes, of random Llamas of
   growing shapes, in a process each.
"""

import argparse
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch

import sonde
from benchmarks.machine import median, seconds, write
from sonde.backends.torch.backend import TorchBackend
from sonde.schema.pair import PromptPair

SHAPES = ((4, 256), (8, 256), (4, 512), (8, 512), (8, 1024))
"""Layers and widths; heads are 64 wide, four of them read a key, MLPs are 3.5 times as wide."""
TOKENS = 64


def attributed(model: sonde.Model, pairs: list[PromptPair]) -> dict[str, Any]:
    """All edges of some pairs, with their verification."""
    found: list[Any] = []
    spent = seconds(
        lambda: found.append(
            model.attribute(
                pairs=pairs, targets="edges", method="eap-ig", verify=200, sample=200,
                drop_wrong=False,
            )
        )
    )  # fmt: skip
    told = found[0].verification
    return {
        "seconds": spent, "edges": told.cells, "pairs": len(pairs), "verified": told.verified,
        "spearman": told.spearman, "precision": {each.k: each.precision for each in told.at},
    }  # fmt: skip


def direct(model: sonde.Model, pairs: list[PromptPair]) -> dict[str, Any]:
    """The direct effect of every head, with MLPs on the way as they are and computed anew."""
    out: dict[str, Any] = {"pairs": len(pairs)}
    for frozen in ("path", "path+mlps"):
        swept = partial(
            model.sweep, pairs=pairs, senders=["z"], receivers=["logits"], frozen=frozen,
            metric="logit_diff", drop_wrong=False,
        )  # fmt: skip
        out[frozen] = seconds(swept)
    return out


def nodes(model: sonde.Model, pair: PromptPair, rounds: int) -> dict[str, Any]:
    """All nodes of one pair, in forward passes."""
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    tokens = torch.tensor([backend.tokenize(str(pair.corrupt))])
    plain, scored, whole = [], [], []

    def forward() -> None:
        with torch.inference_mode():
            backend.model.set_attn_implementation("sdpa")
            backend.model(input_ids=tokens, use_cache=False)

    def attribute() -> None:
        model.attribute(
            clean=str(pair.clean), corrupt=str(pair.corrupt), answer=str(pair.answer),
            foil=str(pair.foil), verify=0, sample=0,
        )  # fmt: skip

    inner = backend.linearise

    def timed(asked: Any) -> Any:
        made: list[Any] = []
        scored.append(seconds(lambda: made.extend(inner(asked))))
        return iter(made)

    backend.linearise = timed  # type: ignore[method-assign]
    for _ in range(rounds):
        plain.append(seconds(forward))
        backend.forget()
        whole.append(seconds(attribute))
    backend.linearise = inner  # type: ignore[method-assign]
    each = sorted(a / b for a, b in zip(scored, plain, strict=True))
    return {
        "forward_seconds": median(plain), "scoring_seconds": median(scored),
        "call_seconds": median(whole), "passes": median(each), "passes_each": each,
    }  # fmt: skip


def memory() -> list[dict[str, Any]]:
    """Peak bytes of scoring all edges, a shape at a time in a process of its own."""
    found = []
    for layers, width in SHAPES:
        command = [sys.executable, "-m", "benchmarks.edges", "--shape", f"{layers}x{width}"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return found


def of_shape(layers: int, width: int) -> dict[str, Any]:
    """What scoring all edges of one shape takes beside the weights, all receivers and senders."""
    from tokenizers import Tokenizer, models
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from sonde.backends.torch.loading.fingerprint import fingerprint
    from sonde.backends.torch.loading.loaded import Loaded

    config = LlamaConfig(
        vocab_size=97, hidden_size=width, intermediate_size=int(3.5 * width),
        num_hidden_layers=layers, num_attention_heads=width // 64,
        num_key_value_heads=width // 256, max_position_embeddings=TOKENS,
    )  # fmt: skip
    torch.manual_seed(0)
    made = LlamaForCausalLM(config).eval().requires_grad_(False)
    words = Tokenizer(models.WordLevel({str(i): i for i in range(97)}, unk_token="0"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="0", eos_token="1")
    loaded = Loaded("shape", made, tokenizer, fingerprint(made), "float32", "cpu")
    model = sonde.Model(TorchBackend(loaded))
    ids = torch.randint(3, 97, (2, TOKENS)).tolist()
    asked: dict[str, Any] = {
        "clean": ids[0], "corrupt": ids[1], "answer": 5, "foil": 50, "verify": 0, "sample": 0,
    }  # fmt: skip
    warm = model.request(method="attribution", senders=["embed"], receivers=["logits"],
                         metric="logit_diff", **asked)  # fmt: skip
    model.run(warm)
    Path("/proc/self/clear_refs").write_text("5")
    before = _peak()
    found = model.attribute(**asked, targets="edges", method="eap")
    heads = width // 64
    senders = (layers * (heads + 1) + 1) * TOKENS * width * 4
    return {
        "layers": layers, "width": width, "tokens": TOKENS, "edges": len(found.edges()),
        "bytes": _peak() - before, "bytes_of_senders": senders,
    }  # fmt: skip


def _peak() -> int:
    """The most memory this process has had since it was last asked to forget it."""
    lines = Path(f"/proc/{os.getpid()}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024


def main() -> None:
    """Measure, print, keep."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=20)
    options.add_argument("--many", type=int, default=200)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--shape", help="only the memory of one shape, such as 8x512")
    asked = options.parse_args()
    if asked.shape:
        layers, width = map(int, asked.shape.split("x"))
        print(json.dumps(of_shape(layers, width)))
        return
    model = sonde.load("smollm2")
    some = list(sonde.pairs("agreement", n=asked.many))
    result: dict[str, Any] = {}
    for name, make in (
        ("nodes", lambda: nodes(model, some[0], asked.rounds)),
        ("direct", lambda: direct(model, some)),
        ("attributed", lambda: attributed(model, some[: asked.pairs])),
        ("memory", memory),
    ):
        result[name] = make()
        print(json.dumps({name: result[name]}), flush=True)
    write("edges", result)


if __name__ == "__main__":
    main()
