"""The official `openai` client talks to this server as to any other."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
import pytest

from sonde.errors import HookNeverFired
from tests.server.completion.endless import opened
from tests.server.tiny_server import OTHER, PROMPT, Served, chatting_backend, served

if TYPE_CHECKING:
    from sonde import Model

HELLO: Any = [{"role": "user", "content": "Hello"}]
GREEDY: Any = {"model": "tiny", "max_tokens": 4, "temperature": 0}


def client_of(here: Served, **options: Any) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{here.url}/v1", api_key="secret", max_retries=0, **options)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    directory = tmp_path_factory.mktemp("openai")
    with (
        served(chatting_backend(), directory, api_key="secret") as here,
        client_of(here) as made,
    ):
        yield made


def test_it_lists_the_model(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").owned_by == "sonde"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-9")


def test_it_completes(client: openai.OpenAI) -> None:
    made = client.completions.create(prompt=[PROMPT, OTHER], n=2, logprobs=3, **GREEDY)
    assert [choice.index for choice in made.choices] == [0, 1, 2, 3]
    assert made.usage is not None
    assert made.usage.completion_tokens <= 16
    logprobs = made.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.top_logprobs is not None
    assert len(logprobs.top_logprobs[0]) == 3


def test_it_streams(client: openai.OpenAI) -> None:
    whole = client.completions.create(prompt=PROMPT, **GREEDY)
    chunks = list(
        client.completions.create(
            prompt=PROMPT, stream=True, stream_options={"include_usage": True}, **GREEDY
        )
    )
    text = "".join(choice.text for chunk in chunks for choice in chunk.choices)
    assert text == whole.choices[0].text
    assert chunks[-1].usage == whole.usage


def test_it_chats(client: openai.OpenAI) -> None:
    made = client.chat.completions.create(messages=HELLO, logprobs=True, top_logprobs=2, **GREEDY)
    message = made.choices[0].message
    assert message.role == "assistant"
    again = client.chat.completions.create(
        messages=[*HELLO, message, {"role": "user", "content": "And?"}], **GREEDY
    )
    assert again.choices[0].finish_reason in ("stop", "length")


def test_it_streams_a_chat(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(messages=HELLO, **GREEDY).choices[0].message.content
    chunks = list(client.chat.completions.create(messages=HELLO, stream=True, **GREEDY))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == whole
    assert chunks[-1].choices[0].finish_reason in ("stop", "length")


def test_it_captures_and_patches_through_extra_fields(client: openai.OpenAI) -> None:
    capture = {"patch_source": {"run": "clean", "hooks": {"post_block": "all"}}}
    plain = client.completions.create(
        prompt=PROMPT, logprobs=1, extra_body={"capture": capture, "capture_wait": True}, **GREEDY
    )
    results: Any = plain.model_extra
    assert results["capture_results"]["patch_source"]["status"] == "ok"
    patch = [
        {"hook": "post_block", "layer": 2, "dest_position": p, "source_run": "clean",
         "source_position": p}
        for p in range(8)
    ]  # fmt: skip
    extra = {"patch": patch, "logprob_token_ids": [280]}
    options = GREEDY | {"max_tokens": 1}
    made = client.completions.create(prompt=OTHER, logprobs=1, extra_body=extra, **options)
    logprobs, clean = made.choices[0].logprobs, plain.choices[0].logprobs
    assert logprobs is not None and clean is not None  # noqa: PT018 - for the type checker
    assert logprobs.token_logprobs is not None and clean.token_logprobs is not None  # noqa: PT018
    assert logprobs.token_logprobs[0] == clean.token_logprobs[0]


def test_13_it_scores_a_prompt(client: openai.OpenAI) -> None:
    options = GREEDY | {"max_tokens": 0}
    made = client.completions.create(prompt=PROMPT, echo=True, logprobs=2, **options).choices[0]
    assert made.text == PROMPT
    logprobs = made.logprobs
    assert logprobs is not None
    assert logprobs.tokens == ["The", " Eiffel", " Tower", " is", " in", " the", " city", " of"]
    assert logprobs.token_logprobs is not None
    assert logprobs.token_logprobs[0] is None
    assert all(value < 0 for value in logprobs.token_logprobs[1:])
    extra = {"prompt_logprobs": 0}
    more: Any = client.completions.create(prompt=PROMPT, extra_body=extra, **GREEDY).choices[0]
    listed = [next(iter(entries.values())) for entries in more.prompt_logprobs[1:]]
    assert [each["decoded_token"] for each in listed] == logprobs.tokens[1:]
    assert [each["logprob"] for each in listed] == logprobs.token_logprobs[1:]


def test_13_it_takes_vllms_fields_in_extra_body(client: openai.OpenAI) -> None:
    greedy = client.completions.create(prompt=PROMPT, **GREEDY).choices[0]
    hot: Any = GREEDY | {"temperature": 1.5, "seed": 1}
    extra = {"top_k": 1, "min_p": 0.1, "ignore_eos": True, "min_tokens": 4}
    made = client.completions.create(prompt=PROMPT, extra_body=extra, **hot).choices[0]
    assert made.text == greedy.text
    stop = greedy.text[:2]
    kept: Any = client.completions.create(
        prompt=PROMPT, stop=[stop], extra_body={"include_stop_str_in_output": True}, **GREEDY
    ).choices[0]
    assert (kept.text, kept.finish_reason, kept.stop_reason) == (stop, "stop", stop)


def test_13_it_continues_a_message(client: openai.OpenAI) -> None:
    begun: Any = [*HELLO, {"role": "assistant", "content": "The Eiffel"}]
    extra = {"continue_final_message": True, "add_generation_prompt": False}
    made = client.chat.completions.create(messages=begun, extra_body=extra, **GREEDY)
    plain = client.completions.create(
        prompt="user: Hello\nassistant: The Eiffel", **GREEDY
    ).choices[0]
    assert made.choices[0].message.content == plain.text
    again: Any = client.chat.completions.create(
        messages=begun, extra_body=extra | {"prompt_logprobs": 0}, **GREEDY
    )
    assert len(again.prompt_logprobs) == made.usage.prompt_tokens


def test_errors_are_its_own(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="'gpt-9' does not exist here"):
        client.completions.create(model="gpt-9", prompt=PROMPT)
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(model="tiny", prompt=PROMPT, logit_bias={"5": 1})
    assert refused.value.param == "logit_bias"
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").models.list()


@pytest.mark.parametrize("after", [0, 2])
def test_a_patch_that_was_not_made_is_an_error_in_a_stream_too(tmp_path: Path, after: int) -> None:
    backend = opened(raises=HookNeverFired("position 9 was not reached"), after=after)
    with served(backend, tmp_path) as here, client_of(here) as client:
        stream: Any = {"model": "scripted", "prompt": "The city", "max_tokens": 5, "stream": True}
        with pytest.raises(openai.APIError, match="position 9 was not reached"):
            list(client.completions.create(**stream))


@pytest.mark.slow
def test_the_default_model_talks(smollm2: "Model", tmp_path: Path) -> None:
    options: Any = {"model": "smollm2", "max_tokens": 8, "temperature": 0}
    with served(smollm2.backend, tmp_path) as here, client_of(here) as client:
        text = client.completions.create(prompt=PROMPT, logprobs=5, **options).choices[0]
        assert text.text.startswith(" Paris")
        assert text.logprobs is not None
        assert text.logprobs.tokens is not None
        assert "".join(text.logprobs.tokens) == text.text
        question: Any = [{"role": "user", "content": "What is the capital of France?"}]
        chunks = list(client.chat.completions.create(messages=question, stream=True, **options))
        said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert "Paris" in said
