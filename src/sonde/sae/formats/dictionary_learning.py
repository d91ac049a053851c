"""dictionary_learning: `ae.pt` and `config.json`, whose `trainer.dict_class` decides.

Seven classes with different names, orientations and formulas; each is one function here. A TopK
class carries a threshold too, which its own encoder ignores, and so do we.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from sonde.errors import BadWeights, NotSaid
from sonde.sae.activations import Activation, BatchTopK, Gated, JumpRelu, Relu, TopK
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import Core, FileFacts, checked, core, linear_core, said_k, take
from sonde.sae.files.config import read_config, section, whole, word
from sonde.sae.files.digest import sha256
from sonde.sae.files.pickles import read_pickle
from sonde.sae.folding import fold_decoder_norms
from sonde.sae.sites import module_site

CONFIG: Final = "config.json"
WEIGHTS: Final = "ae.pt"


def load(folder: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in a folder that dictionary_learning saved."""
    source, where = folder / WEIGHTS, folder / CONFIG
    trainer = section(read_config(where), "trainer", where)
    kind = word(trainer, "dict_class", where) or ""
    read = _CLASSES.get(kind)
    if read is None:
        raise BadWeights(f"{where}: dict_class {kind!r}, expected one of {sorted(_CLASSES)}")
    module = word(trainer, "submodule_name", where)
    held, activation, subtract = read(
        read_pickle(source), source, given, whole(trainer, "k", where)
    )
    model = word(trainer, "lm_name", where)
    draft = Autoencoder(
        *held,
        activation=activation,
        subtract_b_dec=subtract,
        hook=_hook(module),
        layer=whole(trainer, "layer", where),
        origin=Origin("dictionary_learning", WEIGHTS, sha256(source), model, {"dict_class": kind}),
    )
    built = checked(draft, source, given)
    return fold_decoder_norms(built) if kind in _UNIT_NORM else built


def _hook(module: str | None) -> str | None:
    """`resid_post_layer_8` and the like; the library's own default is the output of a layer."""
    if module is None or module.startswith("resid_post"):
        return "post_block"
    hook, _ = module_site(module)
    return {"resid_pre": "pre_attn", "attn_out": "attn_out", "mlp_out": "mlp_out"}.get(
        module.partition("_layer")[0], hook
    )


State = dict[str, Any]
Draft = tuple[Core, Activation, bool]
"""The tensors, the activation, and whether b_dec is subtracted."""


def _auto_encoder(held: State, source: Path, given: FileFacts, k: int | None) -> Draft:
    return linear_core(held, source, b_dec="bias"), Relu(), True


def _auto_encoder_new(held: State, source: Path, given: FileFacts, k: int | None) -> Draft:
    return linear_core(held, source), Relu(), False


def _top_k(held: State, source: Path, given: FileFacts, k: int | None) -> Draft:
    said = said_k(_number(held, "k") or k, given, source, "neither file says k")
    return linear_core(held, source, b_dec="b_dec"), TopK(said), True


def _batch_top_k(held: State, source: Path, given: FileFacts, k: int | None) -> Draft:
    return linear_core(held, source, b_dec="b_dec"), _threshold(held, source, given, k), True


def _matryoshka(held: State, source: Path, given: FileFacts, k: int | None) -> Draft:
    return core(held, source), _threshold(held, source, given, k), True


def _gated(held: State, source: Path, given: FileFacts, k: int | None) -> Draft:
    biases = take(held, source, "gate_bias", "mag_bias", "r_mag")
    held = {**held, "encoder.bias": torch.zeros_like(biases[0])}
    return linear_core(held, source, b_dec="decoder_bias"), Gated(*biases), True


def _jump_relu(held: State, source: Path, given: FileFacts, k: int | None) -> Draft:
    return core(held, source), JumpRelu(*take(held, source, "threshold")), False


_CLASSES: Final[dict[str, Callable[[State, Path, FileFacts, int | None], Draft]]] = {
    "AutoEncoder": _auto_encoder,
    "AutoEncoderNew": _auto_encoder_new,
    "AutoEncoderTopK": _top_k,
    "BatchTopKSAE": _batch_top_k,
    "MatryoshkaBatchTopKSAE": _matryoshka,
    "GatedAutoEncoder": _gated,
    "JumpReluAutoEncoder": _jump_relu,
}
_UNIT_NORM: Final = {"AutoEncoder", "AutoEncoderNew"}
"""Classes whose features the library reports with the decoder's lengths in them."""


def _number(held: State, name: str) -> int | None:
    """A buffer with one whole number in it."""
    found = held.get(name)
    if isinstance(found, Tensor) and found.numel() == 1 and not found.dtype.is_floating_point:
        return int(found)
    return found if isinstance(found, int) else None


def _threshold(held: State, source: Path, given: FileFacts, k: int | None) -> BatchTopK | TopK:
    found = held.get("threshold")
    if not isinstance(found, Tensor) or found.numel() != 1:
        raise BadWeights(f"{source}: threshold is {found!r}, expected one number")
    if given.k is not None:
        return TopK(given.k)
    if float(found) < 0:
        raise NotSaid(
            f"{source}: its threshold was never set ({float(found):g}); "
            "pass k= to keep the k largest of each token instead"
        )
    return BatchTopK(said_k(_number(held, "k") or k, given, source, "it has no k"), float(found))
