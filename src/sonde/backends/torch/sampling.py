"""Text the model writes itself, many sequences at once.

For training sets: ordinary sampling in large batches, with the model's own attention and cache. Not
`generate`, which answers one request exactly and can be patched. Sequences do not stop at an end
token: an instruct model goes on with the next turn, and that is text it will be read on, too.
"""

import math
from typing import Final

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel, PreTrainedTokenizerBase

from sonde.backends.torch.reading import own_attention

CPU_ROWS: Final = 32
GPU_ROWS: Final = 4096
MARK: Final = "\N{WHITE SQUARE}\N{WHITE SQUARE}"
"""Stands for what a user says, to find where a chat template lets them begin."""


@torch.inference_mode()
def sample(
    model: PreTrainedModel,
    openings: Tensor,
    length: int,
    *,
    generator: torch.Generator,
    min_p: float = 0.05,
) -> Tensor:
    """Openings [n, some] continued to [n, length] by draws at temperature 1.

    Tokens less likely than `min_p` times the likeliest are not drawn.
    """
    ids = openings.to(model.device)
    new, cache = ids, DynamicCache(config=model.config)
    parts = [ids]
    with own_attention(model), _half_precision(model.device):
        for _ in range(length - ids.shape[1]):
            out = model(input_ids=new, past_key_values=cache, use_cache=True, logits_to_keep=1)
            new = _draw(out.logits[:, -1].float(), min_p, generator)
            parts.append(new)
    return torch.cat(parts, 1)


def _half_precision(device: torch.device) -> torch.autocast:
    """On a GPU, products and cache in bfloat16: for text to read later, that is exact enough."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


def _draw(logits: Tensor, min_p: float, generator: torch.Generator) -> Tensor:
    """One token a row, from [n, vocabulary] to [n, 1].

    The largest of logit plus Gumbel noise is a draw from the softmax; no sum has to be made.
    """
    floor = logits.max(-1, keepdim=True).values + math.log(min_p)
    noise = torch.empty_like(logits).exponential_(generator=generator).log_()
    return (logits - noise).masked_fill_(logits < floor, -torch.inf).argmax(-1, keepdim=True)


def chat_opening(tokenizer: PreTrainedTokenizerBase) -> list[int] | None:
    """The tokens after which a user begins to speak, if the model knows chats."""
    if not tokenizer.chat_template:
        return None
    text = tokenizer.apply_chat_template([{"role": "user", "content": MARK}], tokenize=False)
    ids: list[int] = tokenizer(text.partition(MARK)[0], add_special_tokens=False)["input_ids"]
    return ids


def rows_at_once(model: PreTrainedModel, length: int) -> int:
    """How many sequences to write side by side: on a GPU, what a third of its memory can cache."""
    if model.device.type != "cuda":
        return CPU_ROWS
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    per_token = 2 * config.num_hidden_layers * heads * width * torch.bfloat16.itemsize
    free, _ = torch.cuda.mem_get_info(model.device)
    fits: int = free // 3 // (per_token * length)
    return max(1, min(GPU_ROWS, fits))
