"""EleutherAI sparsify: one folder a module, with `cfg.json` and `sae.safetensors`.

The folder is named for the module whose output is read (`layers.15.mlp`); a transcoder reads that
module's input and writes its output. b_dec is always subtracted, unless it transcodes.
"""

from pathlib import Path
from typing import Final

from sonde.errors import BadWeights
from sonde.sae.activations import GroupMax, TopK
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import FileFacts, checked, core, flipped, said_k
from sonde.sae.files.config import flag, read_config, whole, word
from sonde.sae.files.digest import sha256
from sonde.sae.files.tensors import read_tensors
from sonde.sae.sites import module_input, module_site

CONFIG: Final = "cfg.json"
WEIGHTS: Final = "sae.safetensors"


def load(folder: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in a folder that sparsify saved."""
    source, where = folder / WEIGHTS, folder / CONFIG
    config, tensors = read_config(where), read_tensors(source)
    if flag(config, "signed", where, default=False) or "W_embed_skip" in tensors:
        raise BadWeights(f"{folder}: signed features and embedding skips are not supported")
    transcodes = flag(config, "transcode", where, default=False)
    module = folder.absolute().name
    hook, layer = module_site(module)
    k = said_k(whole(config, "k", where), given, where, "it says no k")
    held = core(tensors, source, W_enc="encoder.weight", b_enc="encoder.bias")
    draft = Autoencoder(
        *held._replace(W_enc=flipped(held.W_enc)),
        W_skip=flipped(tensors["W_skip"]) if "W_skip" in tensors else None,
        activation=GroupMax(k) if _activation(config, where) == "groupmax" else TopK(k),
        subtract_b_dec=not transcodes,
        hook=module_input(module) if transcodes else hook,
        hook_out=hook if transcodes else None,
        layer=layer,
        origin=Origin("sparsify", WEIGHTS, sha256(source), _model(folder), {"hookpoint": module}),
    )
    built = checked(draft, source, given)
    _check_config(built, config, where)
    return built


def _activation(config: dict[str, object], where: Path) -> str:
    found = word(config, "activation", where) or "topk"
    if found not in ("topk", "groupmax"):
        raise BadWeights(f"{where}: activation {found!r}, expected 'topk' or 'groupmax'")
    return found


def _model(folder: Path) -> str | None:
    """The model, where the folder above says it."""
    above = folder.absolute().parent / "config.json"
    return word(read_config(above), "model", above) if above.is_file() else None


def _check_config(built: Autoencoder, config: dict[str, object], where: Path) -> None:
    """Widths that the configuration gives must be those of the weights; 0 features is a default."""
    d_in = whole(config, "d_in", where) or built.d_in
    expansion = whole(config, "expansion_factor", where)
    features = whole(config, "num_latents", where) or (expansion and d_in * expansion)
    if d_in != built.d_in or (features and features != built.d_sae):
        raise BadWeights(
            f"{where} says {d_in} → {features}, and the weights are {built.d_in} → {built.d_sae}"
        )
