"""Edge attribution by its definition, written out for Llama's layers: plain autograd, no hooks.

Every receiver has a leaf of its own, zeros that are added to the stream it alone reads, before its
norm. The gradient of a leaf times what a sender adds between the end points is the edge's score;
over points between the prompts' embeddings gradients are averaged. Only weights are taken from the
model; nothing of the product is used.

    python -m tests.backends.torch.gradient.plain_llama 20

compares all edges of so many agreement pairs with Sonde's.
"""

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

import sonde
from sonde.backends.torch.backend import TorchBackend
from sonde.nodes import Graph, name_of
from sonde.schema.pair import PromptPair

Scores = dict[tuple[str, str], float]


def _normed(x: Tensor, norm: Any) -> Tensor:
    scaled: Tensor = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)
    return scaled * norm.weight


def _turned(x: Tensor, theta: float) -> Tensor:
    """Rotary angles: [heads, positions, width]."""
    n, half = x.shape[-2], x.shape[-1] // 2
    frequencies = theta ** (-torch.arange(half, dtype=torch.float32) / half)
    angles = torch.arange(n)[:, None] * frequencies
    cos, sin = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Pass(NamedTuple):
    """One pass: the logits at the end, what senders added, and the leaves of receivers."""

    logits: Tensor
    added: dict[str, Tensor]
    leaves: dict[str, Tensor]


class PlainLlama:
    """The arithmetic of a Llama, with a place to stand at every receiver."""

    def __init__(self, model: Any) -> None:
        self._model, config = model, model.config
        self._heads, self._kv = config.num_attention_heads, config.num_key_value_heads
        self._width = config.hidden_size // self._heads
        self._theta = config.rope_parameters["rope_theta"]

    def embedded(self, tokens: Sequence[int]) -> Tensor:
        """What enters the first layer."""
        rows: Tensor = self._model.model.embed_tokens.weight[list(tokens)].detach().clone()
        return rows

    def run(self, start: Tensor) -> Pass:
        """From what enters the first layer: [positions, width]."""
        added, leaves = {"embed": start}, dict[str, Tensor]()

        def read(x: Tensor, name: str) -> Tensor:
            leaves[name] = torch.zeros_like(x, requires_grad=True)
            return x + leaves[name]

        x, n = start, len(start)
        hidden = torch.triu(torch.full((n, n), float("-inf")), 1)
        for number, layer in enumerate(self._model.model.layers):
            attention, w = layer.self_attn, self._width

            def projected(kind: str, head: int, weight: Tensor, x: Tensor = x, w: int = w,
                          layer: Any = layer, number: int = number) -> Tensor:  # fmt: skip
                rows = _normed(read(x, f"{kind}:{number}.{head}"), layer.input_layernorm)
                return rows @ weight[head * w : (head + 1) * w].T

            q = torch.stack(
                [projected("q", h, attention.q_proj.weight) for h in range(self._heads)]
            )
            k = torch.stack([projected("k", h, attention.k_proj.weight) for h in range(self._kv)])
            v = torch.stack([projected("v", h, attention.v_proj.weight) for h in range(self._kv)])
            q, k = _turned(q, self._theta), _turned(k, self._theta)
            group = self._heads // self._kv
            k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
            z = ((q @ k.transpose(1, 2)) * w**-0.5 + hidden).softmax(-1) @ v
            out = attention.o_proj.weight
            for h in range(self._heads):
                added[f"z:{number}.{h}"] = z[h] @ out[:, h * w : (h + 1) * w].T
                x = x + added[f"z:{number}.{h}"]
            rows = _normed(read(x, f"mlp:{number}"), layer.post_attention_layernorm)
            mlp = layer.mlp
            up = F.silu(rows @ mlp.gate_proj.weight.T) * (rows @ mlp.up_proj.weight.T)
            added[f"mlp_out:{number}"] = up @ mlp.down_proj.weight.T
            x = x + added[f"mlp_out:{number}"]
        end = _normed(read(x, "logits"), self._model.model.norm)[-1]
        return Pass(end @ self._model.lm_head.weight.T, added, leaves)

    def scores(
        self, clean: Sequence[int], corrupt: Sequence[int], ids: tuple[int, int], steps: int
    ) -> NDArray[np.float64]:
        """Every sender by every receiver, in their order in a pass."""
        here, there = self.embedded(corrupt), self.embedded(clean)
        with torch.no_grad():
            one, zero = self.run(there).added, self.run(here).added
        change = torch.stack([one[name] - zero[name] for name in zero]).double().flatten(1)
        total = torch.zeros(())
        for step in range(steps):
            found = self.run(here + step / steps * (there - here))
            value = found.logits[ids[0]] - found.logits[ids[1]]
            gradients = torch.autograd.grad(value, list(found.leaves.values()))
            self.senders, self.receivers = list(found.added), list(found.leaves)
            total = total + torch.stack(gradients).double().flatten(1) / steps
        return np.asarray((change @ total.T).numpy())


class Agreement(NamedTuple):
    """How far two attributions of the same edges are apart."""

    edges: int
    relative: float
    """The largest difference, as a share of the largest score."""
    same: int
    """Of the 200 strongest of either, how many are the same."""


def compared(model: sonde.Model, pairs: Sequence[PromptPair], steps: int = 5) -> Agreement:
    """Means over pairs of all edges, by Sonde and by definition."""
    backend = model.backend
    assert isinstance(backend, TorchBackend)
    found = model.attribute(
        pairs=pairs, targets="edges", method="eap-ig", steps=steps, verify=0, sample=0,
        drop_wrong=False,
    )  # fmt: skip
    plain = PlainLlama(backend.model)
    total: Any = 0.0
    for pair in pairs:
        clean, corrupt = backend.tokenize(str(pair.clean)), backend.tokenize(str(pair.corrupt))
        [answer] = backend.tokenize(str(pair.answer), special=False)
        [foil] = backend.tokenize(str(pair.foil), special=False)
        with torch.inference_mode(mode=False):
            total = total + plain.scores(clean, corrupt, (answer, foil), steps)
    graph = Graph.of(backend.describe())
    edges = [(name_of((s,)), name_of((r,))) for s, r in graph.edges()]
    senders = {name: n for n, name in enumerate(plain.senders)}
    receivers = {name: n for n, name in enumerate(plain.receivers)}
    theirs = np.array([total[senders[s], receivers[r]] / len(pairs) for s, r in edges])
    ours = {(edge.sender, edge.receiver): edge.score for edge in found.edges()}
    mine = np.array([ours[edge] for edge in edges])
    first = [
        set(np.argsort(-np.abs(each), kind="stable")[:200].tolist()) for each in (mine, theirs)
    ]
    apart = float(np.abs(mine - theirs).max() / np.abs(theirs).max())
    return Agreement(len(edges), apart, len(first[0] & first[1]))


if __name__ == "__main__":
    some = sonde.tasks.pairs("agreement", n=int(sys.argv[1]))
    sys.stdout.write(f"{compared(sonde.load('smollm2'), list(some))}\n")
