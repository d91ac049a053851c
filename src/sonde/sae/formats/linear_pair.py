"""Two `nn.Linear` and a ReLU in one torch file: Goodfire's, DeepSeek-R1's and others like them.

Nothing is subtracted and nothing normalised. A file with more in it than the four tensors is of
another kind, whose formula its tensors do not tell.
"""

from pathlib import Path
from typing import Final

from torch import Tensor

from sonde.errors import NotSaid
from sonde.sae.activations import Relu
from sonde.sae.autoencoder import Autoencoder, Origin
from sonde.sae.build import FileFacts, checked, linear_core
from sonde.sae.files.digest import sha256
from sonde.sae.files.pickles import read_pickle

ENDINGS: Final = ("", "_linear")
"""What follows `encoder` and `decoder`: nothing, or what Goodfire adds."""
PARTS: Final = ("weight", "bias")


def load(path: Path, given: FileFacts) -> Autoencoder:
    """The dictionary in one `.pt` or `.pth` file."""
    held = read_pickle(path)
    ending = next((each for each in ENDINGS if f"encoder{each}.weight" in held), "")
    four = linear_core(held, path, ending=ending)
    ours = {f"{half}{ending}.{part}" for half in ("encoder", "decoder") for part in PARTS}
    more = sorted(set(held) - ours)
    if any(isinstance(held[name], Tensor) for name in more):
        raise NotSaid(
            f"{path} also has {more}, and no configuration says what they are for; put its "
            "config.json beside it, or save it in a format that has one (sonde, saelens)"
        )
    draft = Autoencoder(
        *four, activation=Relu(), origin=Origin("linear_pair", path.name, sha256(path))
    )
    return checked(draft, path, given)
