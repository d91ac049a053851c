"""A real server on a tiny model that can chat, and what its clients send."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from sonde.backends.base import Backend
from sonde.backends.torch.backend import TorchBackend
from sonde.backends.torch.loading.fingerprint import fingerprint
from sonde.backends.torch.loading.loaded import Loaded
from sonde.server.parts import Network, Parts
from sonde.server.serving import assemble, running_server
from tests.local import LOCAL
from tests.tiny_model import tiny_llama, tiny_tokenizer

LAYERS, WIDTH = 3, 16
PROMPT = "The Eiffel Tower is in the city of"
OTHER = "The Rome Tower is in the city of"
"""As many tokens as the prompt: eight."""
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\n' }}"
    "{% if m['content'] == 'refuse me' %}{{ raise_exception('not this') }}{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"
)


@dataclass(frozen=True)
class Served:
    """A server that runs, and a client that talks to it."""

    url: str
    http: httpx.Client
    parts: Parts


def chatting_backend(
    *, template: str | None = TEMPLATE, longest: int | None = None, **options: Any
) -> TorchBackend:
    """A tiny random model with a chat template; with `longest`, one that takes longer prompts."""
    model, tokenizer = tiny_llama(layers=LAYERS, width=WIDTH), tiny_tokenizer()
    model.config.max_position_embeddings = longest or model.config.max_position_embeddings
    tokenizer.chat_template = template
    loaded = Loaded("tiny", model, tokenizer, fingerprint(model), "float32", "cpu")
    return TorchBackend(loaded, **options)


@contextmanager
def served(backend: Backend, directory: Path, **network: Any) -> Iterator[Served]:
    """A server on a free port, until the block ends."""
    parts = assemble(backend, directory, network=Network(**network))
    with (
        running_server(parts) as url,
        httpx.Client(base_url=url, timeout=60, **LOCAL) as http,
    ):
        yield Served(url, http, parts)
