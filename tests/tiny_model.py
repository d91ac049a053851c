"""A random model of a few thousand parameters and a tokenizer to go with it: no download."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

VOCABULARY = 329
END = "<|end|>"

SENTENCES = [
    "The Eiffel Tower is in the city of Paris",
    "The Colosseum is in the city of Rome",
    "When Mary and John went to the store, John gave a drink to Mary",
]
"""Every word of these, with the space before it, is one token."""


def tiny_llama(
    seed: int = 0, *, layers: int = 2, width: int = 16, tied: bool = True
) -> LlamaForCausalLM:
    """A random Llama in eval mode (9,184 parameters); the same seed gives the same weights.

    Weights are drawn wider than usual, so that a patch moves the logits by more than rounding does.
    """
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=width * 3 // 2,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.3,
        tie_word_embeddings=tied,
        bos_token_id=0,
        eos_token_id=0,
        pad_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config).eval()


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer, so that any text has tokens and offsets."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    bpe.train_from_iterator(SENTENCES, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token=END, eos_token=END, pad_token=END
    )


def save_tiny_model(directory: Path, *, seed: int = 0, tied: bool = True) -> Path:
    """A model directory like any other: configuration, safetensors and tokenizer."""
    tiny_llama(seed, tied=tied).save_pretrained(directory)
    tiny_tokenizer().save_pretrained(directory)
    return directory
