"""Gemma Scope: `gemma-scope-2b-pt-res/layer_20/width_16k/average_l0_71/params.npz`.

JumpReLU, canonical orientation, nothing subtracted. Model, site and layer are in the names of the
folders and nowhere else. Dictionaries of the embedding were trained on it scaled by √width.
"""

import re
from pathlib import Path
from typing import Final

from sonde.sae.activations import JumpRelu
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import FileFacts, checked, core, take
from sonde.sae.files.digest import sha256
from sonde.sae.files.npz import read_npz
from sonde.sae.folding import fold_factor

WEIGHTS: Final = "params.npz"
_REPOSITORY: Final = re.compile(
    r"gemma-scope-(?P<model>\w+-(?:pt|it))-(?P<site>res|mlp|att|transcoders)"
)
_HOOKS: Final = {"res": "post_block", "mlp": "mlp_out", "att": "attn_z", "transcoders": "mlp_in"}


def load(folder: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in a folder with `params.npz`."""
    source = folder / WEIGHTS
    arrays = {_canonical(name): array for name, array in read_npz(source).items()}
    parts = folder.absolute().parts
    found = [match for part in parts if (match := _REPOSITORY.search(part))]
    site = found[-1]["site"] if found else None
    layers = [int(match[1]) for part in parts if (match := re.fullmatch(r"layer_(\d+)", part))]
    embedding = "embedding" in parts
    draft = Autoencoder(
        *core(arrays, source),
        activation=JumpRelu(*take(arrays, source, "threshold")),
        hook="embed" if embedding else _HOOKS.get(site or ""),
        hook_out="mlp_out" if site == "transcoders" else None,
        layer=layers[-1] if layers else None,
        origin=Origin("gemma_scope", WEIGHTS, sha256(source), _model(found)),
    )
    built = checked(draft, source, given)
    return _unscaled(built) if embedding else built


def _canonical(name: str) -> str:
    return f"W{name[1:]}" if name.startswith("w_") else name


def _model(found: list[re.Match[str]]) -> str | None:
    """gemma-scope-2b-pt-res was trained on google/gemma-2-2b."""
    return f"google/gemma-2-{found[-1]['model'].removesuffix('-pt')}" if found else None


def _unscaled(autoencoder: Autoencoder) -> Autoencoder:
    """Encoder divided and decoder multiplied by √width; the bias stays as it is."""
    scaled = fold_factor(autoencoder, autoencoder.d_in**-0.5)
    return scaled.with_tensors({**scaled.tensors(), "b_dec": autoencoder.b_dec})
