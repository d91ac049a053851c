"""The model card beside an autoencoder: what it is, how good it is, what from and how it was made.

Everything in it comes from `autoencoder.json`, so that a card says what the file says that programs
read. It is plain Markdown; nothing reads it back.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sonde.schema.autoencoder import CONFIG, AutoencoderFile

CARD: Final = "README.md"


def write_card(folder: Path) -> None:
    """Put a card beside the weights, from what the file beside them says."""
    config = AutoencoderFile.model_validate_json((folder / CONFIG).read_text(encoding="utf-8"))
    (folder / CARD).write_text(card(config), encoding="utf-8")


def card(config: AutoencoderFile) -> str:
    """The card of one autoencoder."""
    return "\n".join(_lines(config)) + "\n"


def _lines(config: AutoencoderFile) -> Iterator[str]:
    notes = config.notes
    yield f"# Sparse autoencoder of {config.model}, layer {config.layer}"
    yield ""
    yield (
        f"TopK with k = {config.k}: {config.d_sae:,} features of the {config.d_in}-wide "
        f"activations at `{config.hook}` of layer {config.layer}, position 0 left out."
    )
    if "evaluation" in notes:
        yield from _evaluation(notes["evaluation"])
    if "text" in notes:
        yield from _text(notes["text"])
    if "recipe" in notes:
        yield from _recipe(notes)
    yield from _use(config)


def _evaluation(found: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "## How good it is", "")
    yield f"On {found['tokens']:,} tokens of text it was not trained on:"
    yield from ("", "| | |", "|---|---|")
    yield f"| variance unexplained (FVU) | {_share(found['fvu'])} |"
    yield f"| active features a token (L0) | {found['l0']:.1f} |"
    yield f"| dead features | {_share(found['dead'])} |"
    yield f"| cosine of activation and reconstruction | {found['cosine']:.4f} |"
    yield f"| cross-entropy undisturbed | {found['ce_original']:.3f} nats |"
    yield f"| … with the reconstruction | {found['ce_spliced']:.3f} nats |"
    yield f"| … with the mean activation | {found['ce_averaged']:.3f} nats |"
    yield f"| … with zeros | {found['ce_zeroed']:.3f} nats |"
    yield f"| cross-entropy recovered, against zeros | {_share(found['ce_recovered'])} |"
    yield f"| … against the mean | {_share(found['ce_recovered_from_mean'])} |"
    yield ""
    yield (
        "Position 0 and other attention sinks (activations more than 20 times as long as the "
        "median) are neither read nor replaced. Recovered is the share of what zeros, or the mean "
        "activation, add to the cross-entropy that the reconstruction does not."
    )


def _text(text: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "## What it was trained on", "")
    yield (
        f"{text['tokens']:,} tokens in contexts of {text['context']}; one context in "
        f"{text['held_out_one_in']} was held out."
    )
    yield ""
    if text.get("generated"):
        yield (
            f"- {text['generated']:,} tokens that the model wrote itself at temperature 1: after "
            "random tokens; chats, if it knows them, both sides; continuations of texts below."
        )
    for source in text.get("sources", ()):
        yield f"- {source['what']} ({source['licence']}), from the package {source['package']}."


def _recipe(notes: Mapping[str, Any]) -> Iterator[str]:
    recipe = notes["recipe"]
    yield from ("", "## How it was made", "")
    yield (
        f"{recipe['tokens']:,} activations in batches of {recipe['batch']:,}, shuffled "
        f"{recipe['buffer']:,} at a time; Adam at {recipe['learning_rate']:g}, warmed up and in "
        "the end let fall to 0; decoder rows of length 1; activations centred on their mean and "
        "divided by their root mean square, both folded into the weights; features silent for "
        f"{recipe['silent_after']:,} tokens revived by an auxiliary loss; seed {recipe['seed']}."
    )
    if "made" in notes:
        yield ""
        yield "Made on " + ", ".join(f"{name} {v}" for name, v in notes["made"].items()) + "."
    if "command" in notes:
        yield from ("", "```sh", notes["command"], "```")


def _use(config: AutoencoderFile) -> Iterator[str]:
    yield from ("", "## How to use it", "", "```python")
    yield "from sonde.sae.load import load_autoencoder"
    yield ""
    yield 'autoencoder = load_autoencoder("path/to/this/folder")'
    yield f"# activations: [tokens, {config.d_in}]"
    yield "indices, values = autoencoder.top_features(activations, k=10)"
    yield "```"


def _share(value: float | None) -> str:
    """None where ablating costs nothing."""
    return "not defined" if value is None else f"{100 * value:.2f} %"
