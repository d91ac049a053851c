"""A torch backend around a tiny random model, and the grids that tests put it through."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel

from sonde.backends.base import FromRun, FromVector, Row, Vector, Work, logprobs_of, write_at
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.fingerprint import fingerprint
from sonde.backends.torch.loading.loaded import Loaded
from sonde.backends.torch.packed.rows import RowShape
from sonde.schema import Hook
from tests.architectures import ARCHITECTURES, VOCABULARY
from tests.backends.torch.reference import Reference
from tests.tiny_model import tiny_tokenizer

IDS = (5, 50)
"""The tokens that are graded: an answer and a foil."""
Scored = NDArray[np.float64]


def backend_of(model: PreTrainedModel, **options: Any) -> TorchBackend:
    """The backend over a model that was not loaded from anywhere."""
    stamp = fingerprint(model)
    loaded = Loaded("tiny", model, tiny_tokenizer(), stamp, "float32", "cpu")
    return TorchBackend(loaded, **options)


def tiny_backend(name: str = "llama", **options: Any) -> TorchBackend:
    """The backend over a fresh tiny model of an architecture."""
    return backend_of(ARCHITECTURES[name].build(), **options)


@cache
def prepared(name: str = "llama") -> tuple[TorchBackend, Reference]:
    """A backend and a reference with the same weights, for tests that leave them as they are."""
    architecture = ARCHITECTURES[name]
    return tiny_backend(name), Reference(architecture.build(), architecture.parts)


def at_most(backend: TorchBackend, rows: int) -> None:
    """From now on, run chunks of so many rows."""
    backend._scorer._path = replace(backend._path, shape=RowShape(16, rows))


def prompt(n: int, seed: int) -> list[int]:
    """`n` tokens drawn at random, none of them special."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(3, VOCABULARY, (n,), generator=draw).tolist()


def pair_of_prompts(n: int) -> tuple[list[int], list[int]]:
    """A clean and a corrupt prompt of `n` tokens that share their first third."""
    clean, corrupt = prompt(n, 1), prompt(n, 2)
    return clean, clean[: n // 3] + corrupt[n // 3 :]


def vector(width: int, seed: int = 0) -> Vector:
    """A random vector of the size of a residual."""
    return np.random.default_rng(seed).normal(size=width).astype(np.float32)


def asked(tokens: Sequence[int], rows: Sequence[Row], ids: Sequence[int] = IDS) -> Work:
    """Rows of a prompt, and the log-probabilities that are read of each."""
    return Work(tokens, rows, logprobs_of(ids))


def scores(
    backend: TorchBackend,
    tokens: Sequence[int],
    rows: Sequence[Row],
    ids: Sequence[int] = IDS,
) -> Scored:
    """Log-probabilities of all rows, in the order asked for; each must come exactly once."""
    out = np.full((len(rows), len(ids)), np.nan)
    seen: list[int] = []
    for part in backend.score([asked(tokens, rows, ids)]):
        out[list(part.rows)] = part.values
        seen += part.rows
    assert sorted(seen) == list(range(len(rows)))
    return out


def baseline(backend: TorchBackend, tokens: Sequence[int], ids: Sequence[int] = IDS) -> Scored:
    """Log-probabilities of the unpatched prompt: [ids]."""
    row: Scored = scores(backend, tokens, [Row()], ids)[0]
    return row


def sites(backend: TorchBackend, n_tokens: int) -> list[tuple[Hook, int, int]]:
    """Every site of a prompt."""
    model = backend.describe()
    return [
        (hook, layer, position)
        for hook in model.layer_hooks
        for layer in range(model.n_layers)
        for position in range(n_tokens)
    ]


def captured(backend: TorchBackend, run: str, tokens: Sequence[int]) -> str:
    """Capture everything a prompt has."""
    model = backend.describe()
    backend.capture(run, tokens, model.layer_hooks, range(model.n_layers), range(len(tokens)))
    return run


def from_run(
    run: str, where: Iterable[tuple[Hook, int, int]], *, computed: bool = False, alpha: float = 1.0
) -> list[Row]:
    """One row per site, each taking that site's activation of a run."""
    return [
        Row((write_at(h, layer, p, FromRun(run, (p,)), alpha=alpha),), computed=computed)
        for h, layer, p in where
    ]


def from_vector(values: Vector, where: Iterable[tuple[Hook, int, int]]) -> list[Row]:
    """One row per site, each taking the same vector."""
    return [Row((write_at(h, layer, p, FromVector(values)),)) for h, layer, p in where]
