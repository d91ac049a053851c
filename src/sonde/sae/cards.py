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
    what = "Sparse autoencoder" if config.hook_out is None else "Transcoder"
    yield f"# {what} of {config.model}, layer {config.layer}"
    yield ""
    to = f", predicting `{config.hook_out}`" if config.hook_out else ""
    yield (
        f"{_sparsity(config)}: {config.d_sae:,} features of the {config.d_in}-wide "
        f"activations at `{config.hook}` of layer {config.layer}{to}, position 0 left out."
    )
    if "evaluation" in notes:
        yield from _evaluation(notes["evaluation"], notes.get("unrounded"))
    if "described" in notes:
        yield from _described(notes["described"])
    if "text" in notes:
        yield from _text(notes["text"])
    if "recipe" in notes:
        yield from _recipe(notes)
    yield from _use(config)


def _sparsity(config: AutoencoderFile) -> str:
    """How features are chosen: by the recipe where there is one, as far as the file says else."""
    recipe = config.notes.get("recipe", {})
    k = recipe.get("k", config.k)
    match recipe.get("kind", config.activation):
        case "batchtopk":
            return f"BatchTopK with k = {k}, read by thresholds"
        case "jumprelu":
            return "JumpReLU" if k is None else f"JumpReLU drawn to {k} active features"
        case "topk":
            return f"TopK with k = {k}"
        case other:
            return str(other)


def _evaluation(found: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[str]:
    yield from ("", "## How good it is", "")
    yield f"On {found['tokens']:,} tokens of text it was not trained on:"
    yield from ("", "| | |", "|---|---|")
    for name, title, shown in ROWS:
        if name in found:
            yield f"| {title} | {shown(found[name])} |"
    if before:
        encoder, decoder = before["bits"]
        yield ""
        yield (
            f"The encoder's weights have {encoder} bits, the decoder's {decoder}, and each feature "
            f"has a scale; figures are of what is stored. Before rounding: FVU "
            f"{_share(before['fvu'])}, L0 {before['l0']:.1f}, cross-entropy recovered "
            f"{_share(before['ce_recovered'])}."
        )
    yield ""
    yield (
        "Position 0 and other attention sinks (activations more than 20 times as long as the "
        "median) are neither read nor replaced. Recovered is the share of what zeros, or the mean "
        "activation, add to the cross-entropy that the reconstruction does not."
    )


def _described(found: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield (
        f"Features are described on {found['tokens']:,} tokens; {_share(found['never_active'])} of "
        "them are never active there."
    )


def _text(text: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "## What it was trained on", "")
    yield (
        f"{text['tokens']:,} tokens in contexts of {text['context']}; "
        + HELD_OUT[text.get("held_out", "contexts")].format(text["held_out_one_in"])
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
    if recipe.get("nested"):
        sizes = ", ".join(f"{n:,}" for n in recipe["nested"])
        yield f"\nA Matryoshka: the first {sizes} features rebuild by themselves, too."
    if recipe.get("cap"):
        yield f"\nNo feature was to be active on more than {_share(recipe['cap'])} of tokens."
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


HELD_OUT: Final = {
    "documents": "one document in {} was held out, whole.",
    "end": "it is too few documents to hold whole ones out, so the last part in {} was.",
    "contexts": "one context in {} was held out.",
}
"""What was not trained on. The last is how it was done before documents were held out whole."""


def _share(value: float | None) -> str:
    """None where ablating costs nothing."""
    return "not defined" if value is None else f"{100 * value:.2f} %"


def _nats(value: float) -> str:
    return f"{value:.3f} nats"


ROWS: Final = (
    ("fvu", "variance unexplained (FVU)", _share),
    ("l0", "active features a token (L0)", "{:.1f}".format),
    ("dead", "dead features", _share),
    ("dense", "dense features: active on more than a tenth of the tokens", "{:,}".format),
    ("cosine", "cosine of activation and reconstruction", "{:.4f}".format),
    ("ce_original", "cross-entropy undisturbed", _nats),
    ("ce_spliced", "… with the reconstruction", _nats),
    ("ce_averaged", "… with the mean activation", _nats),
    ("ce_zeroed", "… with zeros", _nats),
    ("ce_recovered", "cross-entropy recovered, against zeros", _share),
    ("ce_recovered_from_mean", "… against the mean", _share),
)
"""What judging may have found, what it is called, and how it is written."""
