from dataclasses import replace
from types import SimpleNamespace

from sonde.sae.autoencoder import Origin
from sonde.training.description import dictionaries, run_info, versions
from sonde.training.metadata import Task
from tests.training.tiny_run import tiny_sae


def test_a_run_says_what_it_is() -> None:
    model = SimpleNamespace(config=SimpleNamespace(name_or_path="smollm2"))
    info = run_info(
        run_id="r",
        started=1.0,
        model=model,
        saes={0: tiny_sae(0)},
        k=16,
        every=4,
        spill_every=1,
        save_every=50,
        task=Task(name="catalog"),
        max_steps=20,
    )
    assert (info.model, info.layers, info.status, info.task) == (
        "smollm2",
        [0],
        "running",
        "catalog",
    )
    assert info.cadence.record_every_n_tokens == 4


def test_dictionaries_are_named_by_file_and_hash() -> None:
    sae = tiny_sae(0)
    origin = Origin(file="a.safetensors", folder="/saes/3", sha256="ff")
    filed = replace(sae, origin=origin)
    memory, file = dictionaries({0: sae, 3: filed})
    assert (memory.path, memory.sha256) == ("memory", "")
    assert (file.path, file.sha256) == ("/saes/3/a.safetensors", "ff")


def test_versions_are_those_installed() -> None:
    assert {"python", "torch", "transformers", "trl"} <= set(versions())
