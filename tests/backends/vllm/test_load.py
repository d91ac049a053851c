"""What can be loaded, what is refused, and what is said when vLLM is not there."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import sonde
from sonde.backends.vllm.load import end_ids, load_backend
from sonde.errors import BadRequest
from tests.backends.vllm.tiny import on_vllm, save
from tests.children import python
from tests.tiny_model import save_tiny_model, tiny_tokenizer

pytestmark = pytest.mark.vllm


def test_what_belongs_to_one_backend_is_refused_by_the_other() -> None:
    with pytest.raises(BadRequest, match="belong to backend='torch'"):
        sonde.load("smollm2", backend="vllm", memory_budget=1)
    with pytest.raises(BadRequest, match="need backend='vllm'"):
        sonde.load("smollm2", tensor_parallel_size=2)


def test_a_completion_ends_where_settings_or_tokenizer_say() -> None:
    def named(value: object) -> list[int]:
        config = SimpleNamespace(try_get_generation_config=lambda: {"eos_token_id": value})
        return list(end_ids(config, tiny_tokenizer()))

    assert named([7, 9]) == [0, 7, 9]
    assert named(7) == [0, 7]
    assert named(None) == [0]


def test_an_unknown_layer_class_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match=r"does not know the layer class Olmo2DecoderLayer"):
        on_vllm(save("olmo2", tmp_path))


def test_engine_options_that_vllm_does_not_know_are_refused(tmp_path: Path) -> None:
    save_tiny_model(tmp_path)
    with pytest.raises(BadRequest, match="vLLM refuses these engine options.*no_such_option"):
        load_backend(str(tmp_path), options={"no_such_option": 1})


CAPPED = """
import json, os, pathlib
from sonde.backends.torch.cpu import instruction_sets
instruction_sets.TRIAL = pathlib.Path({trial!r})
import torch
from tests.backends.vllm.tiny import on_vllm
torch.cpu._is_amx_tile_supported = lambda: True
backend = on_vllm(pathlib.Path({model!r}), dtype="bfloat16")
print(json.dumps([backend.describe().dtype, os.environ["ONEDNN_MAX_CPU_ISA"],
                  torch.cpu._is_amx_tile_supported()]))
"""


def test_where_low_precision_is_deadly_the_engine_is_capped_before_it_starts(
    tmp_path: Path,
) -> None:
    """The claim of AMX is hidden from vLLM's own kernels too: they do not ask oneDNN."""
    trial, model = tmp_path / "deadly.py", save("llama", tmp_path / "tiny")
    trial.write_text(
        "import os, signal\n"
        "if 'ONEDNN_MAX_CPU_ISA' not in os.environ: os.kill(os.getpid(), signal.SIGILL)"
    )
    done = python(
        *("-c", CAPPED.format(trial=str(trial), model=str(model))),
        extra={"SONDE_CACHE": str(tmp_path / "cache")},
    )

    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found == ["bfloat16", "AVX512_CORE_FP16", False]
