"""Qwen-Scope: one torch file a layer, `SAE-Res-{model}-W{n}K-L0_{k}/layer{N}.sae.pt`.

Both matrices are stored as `nn.Linear` would, transposed to ours. There is no configuration: model,
width and k are in the name of the folder, or the caller says them. b_dec is not subtracted. Of the
k largest pre-activations negative ones count as 0; the card keeps them, and only a token with fewer
than k positive ones can tell.
"""

import re
from pathlib import Path
from typing import Final

from sonde.errors import BadWeights, NotSaid
from sonde.sae.activations import TopK
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import Core, FileFacts, checked, core, said_k
from sonde.sae.files.digest import sha256
from sonde.sae.files.pickles import read_pickle

_FOLDER: Final = re.compile(r"SAE-Res-(?P<model>.+)-W(?P<width>\d+)K-L0_(?P<k>\d+)$")
_FILE: Final = re.compile(r"layer(\d+)\.sae\.pt$")


def load(path: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in one `.pt` file with W_enc, W_dec, b_enc and b_dec."""
    held = core(read_pickle(path), path)
    folder, layer = _folder(path), _FILE.search(path.name)
    if _is_transposed(path, held, said=folder is not None):
        held = held.transposed()
    d_sae, k = held.W_enc.shape[-1], int(folder["k"]) if folder else None
    if folder and d_sae != 1024 * int(folder["width"]):
        raise BadWeights(f"{path} has {d_sae} features; its folder is named W{folder['width']}K")
    model = f"Qwen/{folder['model']}" if folder else None
    draft = Autoencoder(
        *held,
        activation=TopK(said_k(k, given, path, "no folder's name says k")),
        hook="post_block" if folder or layer else None,
        layer=int(layer.group(1)) if layer else None,
        origin=Origin("qwen_scope", path.name, sha256(path), model),
    )
    return checked(draft, path, given)


def _folder(path: Path) -> dict[str, str] | None:
    """What the folder's name says, also where a download cache has put its own names around it."""
    names = [part.rpartition("--")[2] for part in path.absolute().parts]
    found = [match.groupdict() for name in names if (match := _FOLDER.match(name))]
    return found[-1] if found else None


def _is_transposed(path: Path, held: Core, *, said: bool) -> bool:
    """Whether the matrices are [d_sae, d_in] and [d_in, d_sae], from the lengths of the biases."""
    n_enc, n_dec = held.b_enc.numel(), held.b_dec.numel()
    shapes = [tuple(held.W_enc.shape), tuple(held.W_dec.shape)]
    if shapes == [(n_enc, n_dec), (n_dec, n_enc)] and (said or n_enc != n_dec):
        return True
    if shapes == [(n_dec, n_enc), (n_enc, n_dec)] and n_enc != n_dec:
        return False
    found = f"{path}: W_enc {[*shapes[0]]}, W_dec {[*shapes[1]]}, b_enc [{n_enc}], b_dec [{n_dec}]"
    if n_enc == n_dec:
        raise NotSaid(
            f"{found} could be either way round; keep the name of its Qwen-Scope folder, or save "
            "it in a format with a configuration (sonde, saelens)"
        )
    raise BadWeights(
        f"{found}; expected [{n_enc}, {n_dec}] and [{n_dec}, {n_enc}], or both transposed"
    )
