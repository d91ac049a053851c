"""Whether a model still has the weights it had: cheap enough to ask before every run.

A model's owner may go on training it, or merge an adapter into it. What was captured or made
from the old weights is then wrong, and nothing else would say so.

1. **Places.** Every weight is still the same tensor in the same module, at the same address, and
   torch has counted no write to it. An optimizer's step is counted, and so is loading a state.
2. **Samples.** Some numbers of every weight have the bits they had. A write through `.data`, or
   through memory that is shared with somebody else, is not counted; adapters are merged like that.
3. **Digest.** Only when one of the two says so, the fingerprint is taken again.

Not noticed: an uncounted write that leaves every sample as it was, of some single numbers or one
row of an embedding, say. Nor buffers that are computed rather than stored, as in the fingerprint.
"""

from collections import defaultdict
from operator import is_
from threading import Lock
from typing import Any, Final

import torch
from torch import Tensor, nn

from sonde.backends.torch.loading.fingerprint import bits_of, fingerprint, sampling_stride

RUN: Final = 64
"""Neighbours that are sampled in every weight: a few lines of the cache, read one after another."""
MOST: Final = 2**15
"""Numbers sampled of all weights on one device together. Not more: torch would share them out over
all threads, and on a busy machine those wait for one another."""


class WatchedWeights:
    """The weights of a model, by fingerprint, and how often they were found to be others."""

    def __init__(self, model: nn.Module, named: str) -> None:
        """`named` is the fingerprint they have now."""
        self._model = model
        self._lock = Lock()
        self._fingerprint = named
        self._revision = 0
        self._look()

    @property
    def fingerprint(self) -> str:
        """Of the weights as they were when last noticed."""
        return self._fingerprint

    def notice(self, *, samples: bool = True) -> int:
        """Look whether they changed. -> a number that is another one afterwards, if they did.

        Without `samples` nothing is read from the device, and nothing waits for it.
        """
        with self._lock:
            moved = self._moved()
            if moved or self._counted() or (samples and self._rewritten()):
                self._look()
                named = self._named_anew()
                if moved or named != self._fingerprint:
                    self._revision += 1
                self._fingerprint = named
            return self._revision

    def _named_anew(self) -> str:
        """The fingerprint; one of all numbers, where one of a sample cannot tell the two apart."""
        named = fingerprint(self._model)
        if named == self._fingerprint and sampling_stride(self._model.state_dict().values()) > 1:
            return fingerprint(self._model, whole=True)
        return named

    def _look(self) -> None:
        """Note where the weights are, and what they are in some places."""
        modules = list(self._model.modules())
        slots = [slot for module in modules for slot in (*_parameters(module), *_buffers(module))]
        slots += [slot for module in modules for slot in _children(module)]
        self._slots = [(held, name) for held, name, _ in slots]
        self._held = [what for _, _, what in slots]
        weights = [what for what in self._held if isinstance(what, Tensor)]
        self._weights = weights
        self._countable = [weight for weight in weights if not weight.is_inference()]
        self._places = [weight.data_ptr() for weight in weights]
        self._counts = [weight._version for weight in self._countable]
        self._views = _views(weights)
        self._samples = [torch.cat(views) for views in self._views]

    def _moved(self) -> bool:
        now = [held.get(name) for held, name in self._slots]
        return not all(map(is_, now, self._held)) or self._places != [
            weight.data_ptr() for weight in self._weights
        ]

    def _counted(self) -> bool:
        return self._counts != [weight._version for weight in self._countable]

    def _rewritten(self) -> bool:
        return not all(
            torch.equal(torch.cat(views), known)
            for views, known in zip(self._views, self._samples, strict=True)
        )


Slot = tuple[dict[str, Any], str, object]
"""Where a module holds something, under which name, and what it is."""


def _parameters(module: nn.Module) -> list[Slot]:
    held = module._parameters
    return [(held, name, weight) for name, weight in held.items() if weight is not None]


def _buffers(module: nn.Module) -> list[Slot]:
    """Those that are stored; computed ones may change."""
    held, computed = module._buffers, module._non_persistent_buffers_set
    return [
        (held, name, weight)
        for name, weight in held.items()
        if weight is not None and name not in computed
    ]


def _children(module: nn.Module) -> list[Slot]:
    return [(module._modules, name, child) for name, child in module._modules.items()]


def _views(weights: list[Tensor]) -> list[list[Tensor]]:
    """Some neighbours in each weight, as bits and not copied, by device and size of bits."""
    distinct = {(w.data_ptr(), w.device, w.dtype): w for w in weights if w.numel()}
    run = max(1, min(RUN, MOST // max(len(distinct), 1)))
    views: dict[tuple[torch.device, torch.dtype], list[Tensor]] = defaultdict(list)
    for weight in distinct.values():
        flat = _flat(weight)
        if flat is None:
            continue
        middle = max(0, (len(flat) - run) // 2)
        views[flat.device, flat.dtype].append(flat[middle : middle + run])
    return list(views.values())


def _flat(weight: Tensor) -> Tensor | None:
    """The numbers in the order they are stored, as bits; None where they have gaps."""
    detached = weight.detach()
    order = sorted(range(detached.ndim), key=detached.stride, reverse=True)
    stored = detached.permute(order)
    return bits_of(stored) if stored.is_contiguous() else None
