"""Text that a model writes itself."""

import torch

from sonde.backends.base import GenerateRequest
from sonde.backends.torch.sampling import CPU_ROWS, chat_opening, rows_at_once, sample
from tests.backends.torch.tiny import backend_of, prompt
from tests.tiny_model import tiny_llama, tiny_tokenizer

OPENINGS = torch.tensor([prompt(3, seed) for seed in range(4)])


def drawn(seed: int, min_p: float = 0.05) -> torch.Tensor:
    backend = backend_of(tiny_llama())
    generator = torch.Generator().manual_seed(seed)
    return sample(backend.reader.model, OPENINGS, 12, generator=generator, min_p=min_p)


def test_openings_are_continued_to_the_length_and_the_seed_decides_how() -> None:
    one, again, other = drawn(0), drawn(0), drawn(1)
    assert one.shape == (4, 12)
    assert torch.equal(one[:, :3], OPENINGS)
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_where_only_the_likeliest_token_may_be_drawn_it_is_greedy_completion() -> None:
    backend = backend_of(tiny_llama())
    for opening, ids in zip(OPENINGS.tolist(), drawn(3, min_p=1.0).tolist(), strict=True):
        made = backend.generate(GenerateRequest(tuple(opening), max_tokens=9))
        assert ids == [*opening, *(token.token for token in made)]


def test_draws_follow_the_models_probabilities() -> None:
    """A frequency of 4,000 draws is within 0.04 of its probability but in one case of 10⁵."""
    reader = backend_of(tiny_llama()).reader
    same = OPENINGS[:1].expand(4000, -1)
    generator = torch.Generator().manual_seed(0)
    last = sample(reader.model, same, 4, generator=generator, min_p=1e-9)[:, -1]
    final = reader.activations(OPENINGS[:1], "post_block", [1])[1][:, -1]
    expected = torch.softmax(reader.logits(final)[0], -1)
    found = torch.bincount(last, minlength=len(expected)) / len(last)
    assert float((found - expected).abs().max()) < 0.04


def test_a_chat_begins_where_the_user_would_speak() -> None:
    tokenizer = tiny_tokenizer()
    assert chat_opening(tokenizer) is None
    tokenizer.chat_template = (
        "{% for m in messages %}<|end|>{{ m['role'] }}: {{ m['content'] }}{% endfor %}!"
    )
    opening = chat_opening(tokenizer)
    assert opening is not None
    assert tokenizer.decode(opening) == "<|end|>user: "


def test_on_a_cpu_a_few_sequences_are_written_at_once() -> None:
    assert rows_at_once(tiny_llama(), 64) == CPU_ROWS
