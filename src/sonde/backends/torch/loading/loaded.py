"""A model and its tokenizer, loaded and ready: what loading gives and the backend takes."""

from dataclasses import dataclass

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from sonde.backends.torch.loading.weights import WatchedWeights


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model and its tokenizer; the model is in eval mode and none of it takes gradients."""

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    fingerprint: str
    """Of the weights as loaded."""
    dtype: str
    device: str
    watched: WatchedWeights | None = None
    """Notices when the weights change after they were loaded."""
