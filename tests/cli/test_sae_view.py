"""What `sonde sae` says, from made-up numbers."""

from sonde.cli.sae_view import facts, in_words
from sonde.sae.activations import TopK
from sonde.sae.train import LayerProgress, Progress
from tests.sae.formulas import D_IN, D_SAE, dictionary


def test_progress_says_how_far_how_fast_how_long_and_how_well() -> None:
    now = Progress(5_000_000, 20_000_000, 100_000.0, {7: LayerProgress(0.1234, 48.0, 0.02, 3)})
    assert in_words(now) == (
        "5,000,000 of 20,000,000 tokens, 100,000 tokens/s, 2 min 30 s left: "
        "layer 7 FVU 0.123, L0 48.0, dead 2.00 %, dense 3"
    )


def test_a_tiny_run_is_counted_in_tokens_too() -> None:
    now = Progress(1_500, 2_000, 100.0, {})
    assert in_words(now).startswith("1,500 of 2,000 tokens, 100 tokens/s")


def test_facts_are_those_of_the_file() -> None:
    said = facts(dictionary(TopK(3)))
    assert (said["width"], said["features"], said["activation"], said["k"]) == (
        D_IN, D_SAE, "topk", 3,
    )  # fmt: skip
    smallest, median, largest = said["decoder_norms"]
    assert smallest <= median <= largest
