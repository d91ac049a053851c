"""The loop that people write first: a hook on one layer, and one forward pass for each cell.

In two forms, because they differ by a fifth:

- `usual`, as notebooks have it: without gradients, the model called as it comes, and the answer's
  log-probability read off for each cell.
- `leanest`, as one writes it who counts milliseconds: in inference mode, no cache, logits of the
  last position alone, and nothing read before the end.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

Cells = Sequence[tuple[int, int]]
"""(layer, position) of each."""


class HookLoop:
    """A Hugging Face model with its own attention, patched at `post_block`."""

    def __init__(
        self, model: LlamaForCausalLM, tokens: Sequence[int], clean: Sequence[int], answer: int
    ) -> None:
        """Run the clean prompt once and keep what leaves each layer."""
        self._model, self._answer = model, answer
        self._ids = torch.tensor([tokens], device=model.device)
        ids = torch.tensor([clean], device=model.device)
        self._clean: list[Tensor] = []
        handles = [layer.register_forward_hook(self._keep) for layer in model.model.layers]
        with torch.no_grad():
            model(input_ids=ids)
        for handle in handles:
            handle.remove()

    def _keep(self, _module: object, _args: object, out: Tensor) -> None:
        self._clean.append(out)

    def usual(self, cells: Cells) -> list[float]:
        """The answer's log-probability in each cell."""
        found = []
        with torch.no_grad():
            for layer, position in cells:
                with self._patched(layer, position):
                    logits = self._model(input_ids=self._ids).logits
                found.append(float(logits[0, -1].log_softmax(-1)[self._answer]))
        return found

    def leanest(self, cells: Cells) -> list[float]:
        """The same."""
        found = []
        with torch.inference_mode():
            for layer, position in cells:
                with self._patched(layer, position):
                    out = self._model(input_ids=self._ids, use_cache=False, logits_to_keep=1)
                found.append(out.logits[0, -1].log_softmax(-1)[self._answer])
            rows: list[float] = torch.stack(found).tolist()
        return rows

    @contextmanager
    def _patched(self, layer: int, position: int) -> Iterator[None]:
        def write(_module: object, _args: object, out: Tensor) -> Tensor:
            out = out.clone()
            out[:, position] = self._clean[layer][:, position]
            return out

        handle = self._model.model.layers[layer].register_forward_hook(write)
        yield
        handle.remove()
