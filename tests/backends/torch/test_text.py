"""Text to tokens and back, also from many threads at once."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from sonde.backends.torch.text import LONG_CHARS, TokenVerbs, end_ids
from sonde.errors import BadRequest
from tests.tiny_model import END, SENTENCES, tiny_llama, tiny_tokenizer


def test_many_threads_get_what_one_gets() -> None:
    text = TokenVerbs(tiny_tokenizer())
    alone = [(text.tokenize(s), text.offsets(s)) for s in SENTENCES]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda s: (text.tokenize(s), text.offsets(s)), SENTENCES * 50))
    assert together == alone * 50


def test_08_a_long_text_holds_up_no_short_one_and_gets_the_same_tokens() -> None:
    tokenizer = tiny_tokenizer()
    text, long = TokenVerbs(tokenizer), " ".join(SENTENCES * 2000)
    assert len(long) > LONG_CHARS
    with text._held_for(len(long)), ThreadPoolExecutor(1) as pool:
        short = pool.submit(text.tokenize, SENTENCES[0]).result(20)
    assert short == tokenizer(SENTENCES[0])["input_ids"]
    assert text.tokenize(long) == tokenizer(long)["input_ids"]
    assert len(text.offsets(long)) == len(text.tokenize(long))


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


def test_13_a_last_message_that_is_continued_ends_with_its_text() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] + '<|end|>' }}{% endfor %}"
    text = TokenVerbs(tokenizer)
    said = [{"role": "user", "content": "The city"}, {"role": "assistant", "content": "Paris is"}]
    found = text.render_chat(said, generation_prompt=False, continue_final=True)
    assert found == text.tokenize(f"The city{END}Paris is", special=False)
    with pytest.raises(BadRequest, match="is continued, or another one begins"):
        text.render_chat(said, continue_final=True)


def test_13_a_message_that_the_template_rewrites_cannot_be_continued() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] | upper }}{% endfor %}"
    said = [{"role": "assistant", "content": "Paris"}]
    with pytest.raises(BadRequest, match="cannot be continued: the chat template does not write"):
        TokenVerbs(tokenizer).render_chat(said, generation_prompt=False, continue_final=True)


def test_a_conversation_that_cannot_be_written_is_refused() -> None:
    said = [{"role": "tool", "content": "The city"}]
    with pytest.raises(BadRequest, match="the chat template refuses these messages: no tools"):
        chatting().render_chat(said)
    with pytest.raises(BadRequest, match="this model has no chat template"):
        TokenVerbs(tiny_tokenizer()).render_chat(said)
    with pytest.raises(BadRequest, match="lone surrogate"):
        chatting().render_chat([{"role": "user", "content": "\ud800"}])
