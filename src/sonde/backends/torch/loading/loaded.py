"""A model and its tokenizer, loaded and ready: what loading gives and the backend takes."""

from dataclasses import dataclass

from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model and its tokenizer; the model is in eval mode and none of it takes gradients."""

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    fingerprint: str
    """Of the weights as loaded; `fingerprint(model)` again tells whether they changed since."""
    dtype: str
    device: str
