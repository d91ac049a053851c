"""Steps with a spec stand outside compiled graphs."""

from contextlib import closing
from pathlib import Path

import pytest

from sonde.backends.base import GenerateRequest
from sonde.backends.vllm.proof import prove
from sonde.errors import EngineError
from tests.backends.vllm.tiny import on_vllm, save

pytestmark = pytest.mark.vllm


def test_a_step_is_taken_out_of_the_compiled_graph() -> None:
    from vllm.config import CUDAGraphMode
    from vllm.forward_context import ForwardContext, override_forward_context

    from sonde.backends.vllm import eager

    context = ForwardContext(
        no_compile_layers={},
        attn_metadata={},
        slot_mapping={},
        cudagraph_runtime_mode=CUDAGraphMode.FULL,
    )
    with override_forward_context(context):
        eager.this_step()
    assert context.skip_compiled
    assert context.cudagraph_runtime_mode == CUDAGraphMode.NONE


def test_outside_a_forward_pass_there_is_nothing_to_do() -> None:
    from sonde.backends.vllm import eager

    eager.this_step()


@pytest.mark.slow
def test_only_steps_with_a_spec_leave_the_compiled_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiled, taps are not called: the proof at the start passes thanks to the switch alone."""
    compiled = {"compilation_config": {"backend": "eager"}}  # traced, but quick to compile
    with closing(on_vllm(save("llama", tmp_path), eager_on_demand=True, options=compiled)) as made:
        switched: list[bool] = []
        monkeypatch.setattr("sonde.backends.vllm.eager.this_step", lambda: switched.append(True))
        list(made.generate(GenerateRequest((5, 17, 200), 3)))
        assert not switched
        with pytest.raises(EngineError, match="0 of .* sites"):
            prove(made)
        assert switched
