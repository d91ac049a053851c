"""What a loaded model is and can do, in the words of the wire."""

from typing import Final

from sonde.backends.torch.loading.loaded import Loaded
from sonde.backends.torch.path import Path
from sonde.backends.torch.text import end_ids
from sonde.schema import ModelDescription, SpecialTokens

UNLIMITED: Final = 1_000_000
"""Tokens, for models that have no longest prompt, such as recurrent ones."""


def described(loaded: Loaded, path: Path, special: SpecialTokens, weights: str) -> ModelDescription:
    """The model with the way its patched runs are computed and the weights it has now."""
    model = loaded.model
    config = model.config.get_text_config()
    return ModelDescription(
        name=loaded.name,
        architecture=type(model).__name__,
        backend="torch",
        n_layers=len(path.layout.sites),
        width=config.hidden_size,
        vocabulary=model.get_output_embeddings().weight.shape[0],
        max_tokens=getattr(config, "max_position_embeddings", UNLIMITED),
        hooks=list(path.layout.hooks),
        heads=path.layout.heads,
        end_ids=end_ids(loaded),
        special_tokens=special,
        dtype=str(model.dtype).removeprefix("torch."),
        device=str(model.device),
        weights=weights,
        path=path.name,
        path_reason=path.reason,
        exact=path.exact,
        exact_reason=path.exact_reason,
    )
