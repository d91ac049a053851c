"""Which way a model takes is decided, and proved, when it is loaded."""

import numpy as np
import pytest
import torch
from torch import Tensor

from sonde.backends.torch import whole
from sonde.backends.torch.packed import attention
from sonde.backends.torch.packed import passage as packed
from sonde.backends.torch.packed.plan import QueryBlock
from sonde.backends.torch.path import choose_path
from sonde.backends.torch.reading import own_attention
from sonde.errors import EngineError
from tests.architectures import ARCHITECTURES, Architecture
from tests.backends.torch.tiny import (
    backend_of,
    baseline,
    captured,
    from_run,
    pair_of_prompts,
    prompt,
    scores,
    sites,
    tiny_backend,
)


def test_plain_attention_takes_the_packed_path() -> None:
    path = choose_path(ARCHITECTURES["llama"].build())

    assert (path.name, path.reason, path.exact) == ("packed", None, True)
    assert path.exact_reason is None
    assert path.token_layers_per_second > 0


def looking_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention that sees the future: a packed run is no longer an ordinary one."""

    def everything(block: QueryBlock, *_: object) -> Tensor:
        return torch.ones(block.size, block.n_keys, dtype=torch.bool)

    monkeypatch.setattr(attention, "_visible", everything)


def drifting(monkeypatch: pytest.MonkeyPatch, run: type, amount: float) -> None:
    """Recomputed cells that end a little beside the unpatched run."""
    final = run.final  # type: ignore[attr-defined]

    def moved(self: object) -> Tensor:
        out: Tensor = final(self)
        return out * (1 + amount)

    monkeypatch.setattr(run, "final", moved)


def test_a_packed_run_unlike_an_ordinary_one_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = baseline(tiny_backend(), prompt(9, 1))
    looking_ahead(monkeypatch)

    backend = tiny_backend()

    model = backend.describe()
    assert model.path == "whole_sequence"
    assert model.path_reason is not None
    assert model.path_reason.startswith("a packed run differs from an ordinary one by ")
    np.testing.assert_allclose(baseline(backend, prompt(9, 1)), reference, rtol=0, atol=1e-4)


def test_the_models_own_attention_is_put_back_when_it_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looking_ahead(monkeypatch)
    model = ARCHITECTURES["llama"].build()

    choose_path(model)

    assert model.config._attn_implementation == "eager"


def test_scores_with_a_soft_cap_keep_it_where_transformers_would_leave_it_out() -> None:
    """As every Gemma 2 is when it is read from a directory."""
    model, tokens = ARCHITECTURES["gemma2"].build(), torch.tensor([prompt(9, 1)])
    expected = model(input_ids=tokens).logits
    model.set_attn_implementation("sdpa")
    assert (model(input_ids=tokens).logits - expected).abs().max() > 1e-4  # sdpa has left it out

    path = choose_path(model)

    assert (path.name, path.reason) == ("packed", None)
    with own_attention(model):
        assert torch.equal(model(input_ids=tokens).logits, expected)


def test_cells_that_do_not_end_in_the_unpatched_run_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drifting(monkeypatch, packed.PackedRun, 0.1)

    path = choose_path(ARCHITECTURES["llama"].build())

    assert path.name == "whole_sequence"
    assert path.reason == "unpatched cells end 0.1 of its size away from the unpatched run"
    assert path.exact


def test_a_model_that_neither_way_suits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    drifting(monkeypatch, packed.PackedRun, 0.1)
    drifting(monkeypatch, whole.WholeRun, 0.1)

    with pytest.raises(EngineError, match="LlamaForCausalLM cannot be patched by Sonde: unpatched"):
        choose_path(ARCHITECTURES["llama"].build())


def test_bits_that_depend_on_the_batch_are_admitted_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drifting(monkeypatch, packed.PackedRun, 1e-6)

    path = choose_path(ARCHITECTURES["llama"].build())

    assert path.name == "packed"
    assert not path.exact
    assert path.exact_reason is not None
    assert "float32 products depend on the rows beside them on this CPU" in path.exact_reason


def test_an_architecture_whose_layers_hold_something_else_is_refused() -> None:
    """Hyper-connections keep several streams: there is no one residual to patch."""
    strange = Architecture("xlm", "XLMConfig", {"emb_dim": 32, "n_layers": 3, "n_heads": 4})

    with pytest.raises(EngineError, match="XLMWithLMHeadModel"):
        choose_path(strange.build())


def test_two_backends_can_share_a_model() -> None:
    model = ARCHITECTURES["llama"].build()
    first, second = backend_of(model), backend_of(model)

    assert (baseline(first, prompt(9, 1)) == baseline(second, prompt(9, 1))).all()
    assert second.describe().path == "packed"


def test_half_precision_keeps_its_controls() -> None:
    backend = backend_of(ARCHITECTURES["llama"].build().to(torch.bfloat16))
    clean, corrupt = pair_of_prompts(18)
    own = captured(backend, "own", corrupt)
    captured(backend, "clean", clean)
    model = backend.describe()
    assert (model.dtype, model.path) == ("bfloat16", "packed")

    found = scores(backend, corrupt, from_run(own, sites(backend, 18), computed=True))

    difference = np.abs(found - baseline(backend, corrupt)).max()
    assert difference == 0 if model.exact else difference < 0.5
