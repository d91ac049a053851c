"""A card says what the file beside the weights says, and nothing it does not."""

import json
from pathlib import Path
from typing import Any

from sonde.sae.cards import CARD, card, write_card
from sonde.schema.autoencoder import CONFIG, AutoencoderFile

EVALUATION = {
    "tokens": 330629, "fvu": 0.1098, "l0": 63.97, "dead": 0.0002, "cosine": 0.9744,
    "ce_original": 2.186, "ce_spliced": 2.298, "ce_averaged": 8.592, "ce_zeroed": 15.15,
    "ce_recovered": 0.9913, "ce_recovered_from_mean": None,
}  # fmt: skip
RECIPE = {
    "d_sae": 4096, "k": 64, "tokens": 56_000_000, "batch": 8192, "learning_rate": 0.0012,
    "buffer": 2_000_000, "seed": 0, "silent_after": 1_000_000,
}  # fmt: skip
TEXT = {
    "tokens": 16_000_000, "generated": 9_000_000, "context": 256, "held_out_one_in": 50,
    "sources": [{"what": "Moby Dick", "licence": "public domain", "package": "a-whale"}],
}  # fmt: skip


def config(**notes: Any) -> AutoencoderFile:
    return AutoencoderFile(
        sha256="0" * 64, d_in=576, d_sae=4096, d_out=576, activation="topk", k=64,
        subtract_b_dec=True, hook="post_block", layer=15, model="smollm2", notes=notes,
    )  # fmt: skip


def test_a_card_has_the_figures_the_text_the_recipe_and_the_command() -> None:
    text = card(
        config(
            evaluation=EVALUATION, recipe=RECIPE, text=TEXT, made={"device": "a GPU"},
            command="sonde sae train --layers 15",
        )
    )  # fmt: skip
    for part in (
        "# Sparse autoencoder of smollm2, layer 15", "k = 64", "4,096 features", "`post_block`",
        "330,629 tokens", "10.98 %", "64.0", "0.9744", "2.298 nats", "99.13 %", "not defined",
        "9,000,000 tokens that the model wrote itself", "Moby Dick (public domain)", "a-whale",
        "56,000,000 activations", "0.0012", "seed 0", "a GPU", "sonde sae train --layers 15",
    ):  # fmt: skip
        assert part in text, part
    assert max(map(len, text.splitlines())) < 400


def test_what_a_file_does_not_say_is_not_on_the_card() -> None:
    text = card(config())
    for heading in ("How good", "trained on", "How it was made"):
        assert heading not in text
    assert "load_autoencoder" in text


def test_the_card_is_written_beside_the_weights(tmp_path: Path) -> None:
    said = config(evaluation=EVALUATION)
    (tmp_path / CONFIG).write_text(json.dumps(said.model_dump(exclude_none=True)))
    write_card(tmp_path)
    assert (tmp_path / CARD).read_text() == card(said)


def test_a_card_says_how_features_are_chosen_and_what_a_transcoder_predicts() -> None:
    capped = {**RECIPE, "kind": "batchtopk", "k": 40, "cap": 0.08, "nested": [256, 1024]}
    text = card(config(recipe=capped))
    for part in ("BatchTopK with k = 40", "more than 8.00 %", "first 256, 1,024 features"):
        assert part in text, part
    said = config(recipe={**RECIPE, "kind": "jumprelu"}).model_copy(
        update={"hook": "mlp_in", "hook_out": "mlp_out"}
    )
    assert "# Transcoder of smollm2, layer 15" in card(said)
    assert "JumpReLU drawn to 64 active features" in card(said)
    assert "at `mlp_in` of layer 15, predicting `mlp_out`" in card(said)
