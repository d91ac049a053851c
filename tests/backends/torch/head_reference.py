"""Heads patched the ordinary way: whole prompts through a plain attention function with edits.

Nothing of the product is used. Keys and values are repeated for every query head that reads them,
the mask is the one that transformers makes for eager attention, and one whole forward pass is made
for every batch of patched runs.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedModel
from transformers.masking_utils import AttentionMaskInterface, eager_mask

NAME: Final = "plain_heads"
AT_ONCE: Final = 45
"""Patched runs per batch."""


@dataclass(frozen=True)
class HeadEdit:
    """Replace what one head has at some positions; of keys and values, for some readers alone."""

    hook: str
    layer: int
    head: int
    positions: tuple[int, ...]
    values: Tensor
    """[positions, width]."""
    readers: tuple[int, ...] | None = None
    weight: float = 1.0


@dataclass
class _Pass:
    """One forward pass: what is written in each row of the batch, and what was seen."""

    edits: Sequence[Sequence[HeadEdit]]
    calls: list[int] = field(default_factory=list)
    seen: list[dict[str, Tensor]] = field(default_factory=list)

    def change(self, hook: str, layer: int, values: Tensor, group: int = 1) -> Tensor:
        """`values` [batch, query heads, tokens, width] with the edits of this layer and hook."""
        values = values.clone()
        for row, edits in enumerate(self.edits):
            for edit in edits:
                if (edit.hook, edit.layer) != (hook, layer):
                    continue
                heads = range(edit.head * group, (edit.head + 1) * group)
                for head in heads if edit.readers is None else edit.readers:
                    old = values[row, head, list(edit.positions)]
                    new = (1 - edit.weight) * old + edit.weight * edit.values
                    values[row, head, list(edit.positions)] = new
        return values


_pass: ContextVar[_Pass] = ContextVar("plain_heads_pass")


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    now = _pass.get()
    layer = len(now.calls)  # layers attend once each, in order
    now.calls.append(layer)
    group = query.shape[1] // key.shape[1]
    seen = {"q": query, "k": key, "v": value}
    q = now.change("q", layer, query)
    k = now.change("k", layer, key.repeat_interleave(group, 1), group)
    v = now.change("v", layer, value.repeat_interleave(group, 1), group)
    scores = q @ k.transpose(2, 3) * (q.shape[-1] ** -0.5 if scaling is None else scaling)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    assert attention_mask is not None
    scores = scores + attention_mask[..., : k.shape[2]]
    if s_aux is None:
        pattern = scores.softmax(-1)
    else:
        sink = s_aux.view(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
        pattern = torch.cat([scores, sink], -1).softmax(-1)[..., :-1]
    pattern = now.change("pattern", layer, pattern)
    z = now.change("z", layer, pattern @ v)
    seen |= {"pattern": pattern, "z": z}
    now.seen.append({hook: values[0].transpose(0, 1) for hook, values in seen.items()})
    return z.transpose(1, 2), None


AttentionInterface.register(NAME, _attend)
AttentionMaskInterface.register(NAME, eager_mask)


class HeadReference:
    """A plain model whose heads can be read and written."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        model.set_attn_implementation(NAME)

    def activations(self, tokens: Sequence[int]) -> list[dict[str, Tensor]]:
        """What each layer has at each hook: [tokens, heads, width]."""
        return self._run([list(tokens)], [()])[1].seen

    def logprobs(
        self, tokens: Sequence[int], runs: Sequence[Sequence[HeadEdit]], ids: Sequence[int]
    ) -> Tensor:
        """Log-probabilities of some tokens after the last one, in every run: [runs, ids]."""
        out = []
        for start in range(0, len(runs), AT_ONCE):
            some = runs[start : start + AT_ONCE]
            logits, _ = self._run([list(tokens)] * len(some), some)
            out.append(logits[:, -1].float().log_softmax(-1)[:, list(ids)])
        return torch.cat(out)

    @torch.inference_mode()
    def _run(
        self, prompts: list[list[int]], edits: Sequence[Sequence[HeadEdit]]
    ) -> tuple[Tensor, _Pass]:
        made = _Pass(edits)
        token = _pass.set(made)
        try:
            logits = self.model(input_ids=torch.tensor(prompts), use_cache=False).logits
        finally:
            _pass.reset(token)
        return logits, made
