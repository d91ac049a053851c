"""Text to tokens and back, also from many threads at once."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from sonde.backends.torch.text import TokenVerbs, end_ids
from sonde.errors import BadRequest
from tests.tiny_model import END, SENTENCES, tiny_llama, tiny_tokenizer


def test_many_threads_get_what_one_gets() -> None:
    text = TokenVerbs(tiny_tokenizer())
    alone = [(text.tokenize(s), text.offsets(s)) for s in SENTENCES]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda s: (text.tokenize(s), text.offsets(s)), SENTENCES * 50))
    assert together == alone * 50


def test_special_tokens_decode_to_nothing_and_cover_nothing() -> None:
    text = TokenVerbs(tiny_tokenizer())
    said = f"{END}The city"
    assert text.detokenize(text.tokenize(said)) == "The city"
    assert text.offsets(said)[0] == (0, 0)


@pytest.mark.parametrize(("named", "ids"), [(None, [0]), (7, [0, 7]), ([2, 0], [0, 2])])
def test_a_completion_ends_where_the_model_or_its_tokenizer_says(named: Any, ids: Any) -> None:
    model = tiny_llama()
    model.generation_config.eos_token_id = named
    loaded: Any = SimpleNamespace(model=model, tokenizer=tiny_tokenizer())
    assert end_ids(loaded) == ids


TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'tool' %}{{ raise_exception('no tools') }}"
    "{% endif %}{{ '<|end|>' + m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}{{ ' of' }}{% endif %}"
)


def chatting() -> TokenVerbs:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = TEMPLATE
    return TokenVerbs(tokenizer)


def test_a_conversation_is_written_by_the_template_with_its_special_tokens() -> None:
    text = chatting()
    said = [{"role": "user", "content": "The city"}, {"role": "assistant", "content": "Paris"}]
    expected = text.tokenize(f"{END}The city{END}Paris", special=False)
    assert text.render_chat(said, generation_prompt=False) == expected
    assert text.render_chat(said) == expected + text.tokenize(" of", special=False)


def test_a_conversation_that_cannot_be_written_is_refused() -> None:
    said = [{"role": "tool", "content": "The city"}]
    with pytest.raises(BadRequest, match="the chat template refuses these messages: no tools"):
        chatting().render_chat(said)
    with pytest.raises(BadRequest, match="this model has no chat template"):
        TokenVerbs(tiny_tokenizer()).render_chat(said)
    with pytest.raises(BadRequest, match="lone surrogate"):
        chatting().render_chat([{"role": "user", "content": "\ud800"}])
