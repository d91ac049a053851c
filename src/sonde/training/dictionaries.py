"""Load the dictionaries of a plan: from a path, or from the Hugging Face cache."""

from collections.abc import Callable
from pathlib import Path

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

from sonde.errors import MissingDictionary
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.load import load_autoencoder
from sonde.training.plan import Plan


def load_dictionaries(plan: Plan, say: Callable[[str], None]) -> dict[int, Autoencoder]:
    """One for each watched layer, on the plan's device; a missing one is an error."""
    found = {}
    for layer in plan.layers:
        say(f"loading the dictionary of layer {layer}")
        path = _fetched(plan.dictionaries[layer], layer)
        sae = load_autoencoder(path, k=plan.preset.k, d_in=plan.preset.width, layer=layer)
        found[layer] = sae.to(plan.sae_device)
    return found


def _fetched(where: str, layer: int) -> Path:
    if Path(where).exists():
        return Path(where)
    repository, _, file = where.rpartition("/")
    try:
        return Path(hf_hub_download(repository, file))
    except (EntryNotFoundError, LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise MissingDictionary(
            f"layer {layer} has no dictionary: {file} of {repository} could not be had ({reason}). "
            "Download it first, give a folder with --saes, or use --sae-attach off"
        ) from error
