"""Fetch a model by its Hugging Face id, or take it from the Hugging Face cache.

The whole model is fetched before anything is loaded, so that an id becomes an ordinary directory
and every check of one applies to both. It also fails at once: asked for an id while offline,
transformers itself tries again for three quarters of a minute.
"""

from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError

from sonde.backends.torch.loading.reasons import one_line, unknown_model

WANTED = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt"]
UNWANTED = [
    "*/*",  # other formats, in folders of their own
    "consolidated*",  # the publisher's own format: the same weights again
    "model.*.safetensors",  # variants in another precision
]


def from_hub(name: str) -> Path:
    """The directory that holds the model `name`; safetensors, tokenizer and configuration only."""
    try:
        return Path(snapshot_download(name, allow_patterns=WANTED, ignore_patterns=UNWANTED))
    except LocalEntryNotFoundError as error:
        why = one_line(error.__cause__ or error)
        reason = (
            f"no such path, nothing in the Hugging Face cache, and the Hub is out of reach ({why})"
        )
        raise unknown_model(name, reason) from error
    except (OSError, ValueError) as error:
        reason = f"no such path, and the Hugging Face Hub has no such model ({one_line(error)})"
        raise unknown_model(name, reason) from error
