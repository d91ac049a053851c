"""A sweep that nobody wants ends between two layers, and leaves the backend as it was."""

import pytest

from sonde.backends import giving_up
from sonde.engine.sweep import sweep
from sonde.schema import LayerRange, PatchSweepRequest, SweepSummary
from tests.backends.suite import CLEAN
from tests.backends.torch.test_backend import LFM2, with_tokenizer
from tests.tiny_model import tiny_llama

REQUEST = PatchSweepRequest(
    prompt=CLEAN.replace("Eiffel", "Paris"), clean_prompt=CLEAN, source_run="r",
    layers=LayerRange(start=0, stop=3), positions="all_prompt", answer_token_id=7,
)  # fmt: skip


class After:
    """Wants so many layers, and no more."""

    def __init__(self, layers: int) -> None:
        self.layers = self.left = layers

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise giving_up.Unwanted


@pytest.mark.parametrize("make", [lambda: tiny_llama(layers=3), LFM2.build], ids=["llama", "lfm2"])
def test_wherever_a_sweep_is_given_up_the_next_has_the_same_numbers(make: object) -> None:
    backend = with_tokenizer(make())  # type: ignore[operator]

    def summary() -> SweepSummary:
        *_, last = sweep(backend, REQUEST)
        assert isinstance(last, SweepSummary)
        return last

    counted = After(10_000)
    with giving_up.asking(counted):
        expected = summary()
    layers = counted.layers - counted.left
    assert layers > 4, "asked in each layer of both prompts' run, and between those of a chunk"
    for after in range(layers):
        fresh = with_tokenizer(make())  # type: ignore[operator]
        with pytest.raises(giving_up.Unwanted), giving_up.asking(After(after)):
            list(sweep(fresh, REQUEST))
        assert fresh.manifests() == {}, "what was captured is gone"
        *_, again = sweep(fresh, REQUEST)
        assert isinstance(again, SweepSummary)
        assert again.grid == expected.grid
