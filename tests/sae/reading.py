"""A tiny model to read, and text to read it on."""

from functools import cache

import torch

from sonde.backends.torch.reading import Reader
from sonde.sae.activations import Relu
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.corpus import Contexts
from tests.backends.torch.tiny import backend_of
from tests.tiny_model import VOCABULARY, tiny_llama

WIDTH = 16


@cache
def tiny_reader() -> Reader:
    """One for all tests: reading leaves nothing behind."""
    return backend_of(tiny_llama()).reader


def random_contexts(n: int = 40, length: int = 24, seed: int = 0) -> Contexts:
    """Contexts of random tokens, every fourth of them shorter."""
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, VOCABULARY, (n, length), generator=draw)
    lengths = torch.full((n,), length)
    lengths[::4] = length // 2
    return Contexts(ids, lengths)


def mirror(layer: int = 1, scale: float = 1.0, width: int = WIDTH) -> Autoencoder:
    """Features are the dimensions, up and down: what it rebuilds is scale · x."""
    both = torch.cat([torch.eye(width), -torch.eye(width)])
    return Autoencoder(
        W_enc=both.T.contiguous(),
        b_enc=torch.zeros(2 * width),
        W_dec=scale * both,
        b_dec=torch.zeros(width),
        activation=Relu(),
        hook="post_block",
        layer=layer,
    )
