"""OpenAI's GPT-2 dictionaries: one torch file with `pre_bias`, `latent_bias` and two matrices.

The activation is a name in the file. The TopK ones also normalise each activation and undo it on
the way out; the ReLU ones do not. The bias is subtracted after normalising.
"""

from pathlib import Path

from sonde.errors import BadWeights
from sonde.sae.activations import Activation, Relu, TopK
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import FileFacts, checked, core, said_k
from sonde.sae.files.config import section, whole
from sonde.sae.files.digest import sha256
from sonde.sae.files.pickles import read_pickle


def load(path: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in one torch file."""
    held = read_pickle(path)
    name = held.get("activation")
    activation: Activation
    if name == "TopK":
        k = whole(section(held, "activation_state_dict", path), "k", path)
        activation = TopK(said_k(k, given, path, "a TopK without k"))
    elif name in ("ReLU", "relu"):
        activation = Relu()
    else:
        raise BadWeights(f"{path}: activation is {name!r}, expected 'TopK' or 'ReLU'")
    four = core(
        held,
        path,
        W_enc="encoder.weight",
        b_enc="latent_bias",
        W_dec="decoder.weight",
        b_dec="pre_bias",
    )
    draft = Autoencoder(
        *four.transposed(),
        activation=activation,
        subtract_b_dec=True,
        norm_in="layer_norm" if isinstance(activation, TopK) else "none",
        origin=Origin("openai", path.name, sha256(path)),
    )
    return checked(draft, path, given)
