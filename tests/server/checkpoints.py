"""Tiny checkpoints of a run, and a server's pool that has room for only so many."""

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model

from sonde.backends.base import Backend
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loader import TorchLoader
from sonde.backends.torch.loading.load import load_model
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from sonde.server.jobs import JobThread
from sonde.server.model_names import ModelNames
from sonde.server.pool import Pool
from tests.tiny_model import save_tiny_model, tiny_llama, tiny_tokenizer

STEPS = (20, 40, 60)


class Counting(TorchLoader):
    """Remembers what was loaded, and the most that was held at any time."""

    def __init__(self) -> None:
        super().__init__(dtype="float32", device="cpu")
        self.loaded: list[str] = []
        self.most = 0

    def load(self, name: str, *given: Any) -> Generator[None, None, Backend]:
        self.loaded.append(name)
        return super().load(name, *given)

    def held(self, backends: Sequence[Backend]) -> int:
        held = super().held(backends)
        self.most = max(self.most, held)
        return held


def a_run(directory: Path, steps: Sequence[int] = STEPS) -> Path:
    """A run directory below `directory`, with whole models as its checkpoints."""
    for step in steps:
        save_tiny_model(directory / "one" / f"checkpoint-{step}", seed=step)
    (directory / "one" / "run.json").write_text("{}")
    return directory / "one"


def an_adapter(directory: Path, base: Path, *, seed: int) -> Path:
    """An adapter over the attention of the base, with weights that change it."""
    model = get_peft_model(tiny_llama(), LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for name, weight in model.named_parameters():
            if "lora_" in name:
                weight.data.normal_(std=0.2)
    model.peft_config["default"].base_model_name_or_path = str(base)
    model.save_pretrained(directory, save_embedding_layers=False)
    tiny_tokenizer().save_pretrained(directory)
    return directory


@dataclass(frozen=True)
class Pooled:
    """A pool that is driven by hand: its jobs' iterators, without a thread."""

    pool: Pool
    loader: Counting
    size: int
    """Bytes of the default; of each checkpoint, as many."""


@contextmanager
def pooled(folder: Path, *, room: float, roots: Sequence[Path] = ()) -> Iterator[Pooled]:
    """A pool over a base and the runs in `folder`, with a budget for `room` models."""
    base = save_tiny_model(folder / "base")
    backend = TorchBackend(load_model(str(base), device="cpu"))
    loader, engine = Counting(), JobThread()
    size = loader.held([backend])
    names = ModelNames({str(base): str(base)}, roots=roots, runs=Hub(RunLayout(folder)))
    budget = int(room * size)
    try:
        yield Pooled(
            Pool(backend, engine, names=names, loader=loader, budget_bytes=budget), loader, size
        )
    finally:
        engine.stop(0)


def in_process(directory: Path) -> TorchBackend:
    """The same model without a server."""
    return TorchBackend(load_model(str(directory), device="cpu"))


def at_once(work: Sequence[Any]) -> list[Any]:
    """Calls that are made by a thread each, and what they gave."""
    made: list[Any] = [None] * len(work)

    def do(i: int) -> None:
        made[i] = work[i]()

    threads = [threading.Thread(target=do, args=(i,)) for i in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return made
