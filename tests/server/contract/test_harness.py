"""What evaluation harnesses and users of vLLM send, over HTTP, on either backend."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

ROUTE, CHAT = "/v1/completions", "/v1/chat/completions"
PROMPT = "The Eiffel Tower is in the city of"
OTHER = "When Mary and John went to the store, John gave"
ZEROS = {"layer": 1, "hook": "post_block", "source_module": "zeros"}


@pytest.fixture
def near(request: pytest.FixtureRequest) -> Any:
    """Equality of log-probabilities: of bits, unless the backend's depend on the batch."""
    exact = request.config.getoption("--backend") == "torch"
    return lambda value: value if exact else pytest.approx(value, abs=1e-4)


def ask(http: httpx.Client, route: str = ROUTE, **fields: Any) -> Any:
    """The answer to a request that must succeed, without NaN or infinity."""
    answer = http.post(route, json={"temperature": 0} | fields)
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text, parse_constant=lambda _: pytest.fail("not JSON"))


def chunks(http: httpx.Client, route: str = ROUTE, **fields: Any) -> Iterator[Any]:
    answer = http.post(route, json={"temperature": 0, "stream": True} | fields)
    assert answer.status_code == 200, answer.text
    *said, done = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    assert done == "[DONE]"
    yield from map(json.loads, said)


def ids_of(http: httpx.Client, text: str) -> list[int]:
    return list(http.post("/tokenize", json={"prompt": text}).json()["tokens"])


def after(http: httpx.Client, tokens: list[int], token: int, **fields: Any) -> float:
    """The log-probability of a token after others, asked for by itself."""
    text = http.post("/detokenize", json={"tokens": [token]}).json()["prompt"]
    name = text if text and "\N{REPLACEMENT CHARACTER}" not in text else f"token_id:{token}"
    given: Any = {"prompt": tokens, "max_tokens": 1, "logprobs": 0, "logprob_token_ids": [token]}
    found = ask(http, **given | fields)["choices"][0]["logprobs"]["top_logprobs"][0]
    return float(found[name])


def told(http: httpx.Client, tokens: list[int]) -> list[float]:
    """Log-probabilities of the tokens from the second on, each asked for by itself."""
    return [after(http, tokens[:i], tokens[i]) for i in range(1, len(tokens))]


def greedy_ids(http: httpx.Client, count: int) -> list[int]:
    """The tokens of a greedy completion."""
    tokens = ids_of(http, PROMPT)
    for _ in range(count):
        found = ask(http, prompt=[*tokens, 5], max_tokens=0, prompt_logprobs=1)["choices"][0]
        entries = found["prompt_logprobs"][-1]
        tokens.append(next(int(i) for i, each in entries.items() if each["rank"] == 1))
    return tokens[-count:]


def test_13_a_harness_scores_continuations_as_if_token_by_token(
    http: httpx.Client, near: Any
) -> None:
    """The body and the parsing of lm-eval's `local-completions`: two of them in one request."""
    prompts, contexts = [ids_of(http, PROMPT), ids_of(http, OTHER)], [4, 7]
    body: Any = {"prompt": prompts, "max_tokens": 1, "logprobs": 1, "echo": True, "seed": 1234}
    choices = ask(http, **body)["choices"]
    for tokens, context, choice in zip(prompts, contexts, choices, strict=True):
        logprobs = choice["logprobs"]
        lengths = {len(logprobs[key]) for key in logprobs}
        assert lengths == {len(tokens) + 1}
        assert logprobs["token_logprobs"][0] is logprobs["top_logprobs"][0] is None
        assert logprobs["token_logprobs"][1:-1] == near(told(http, tokens))
        own = logprobs["token_logprobs"][context:-1]
        tops = logprobs["top_logprobs"][context:-1]
        greedy = all(value == max(top.values()) for value, top in zip(own, tops, strict=True))
        assert sum(own) == near(sum(told(http, tokens)[context - 1 :]))
        assert not greedy  # a random model expects no sentence of ours


def test_13_a_greedy_continuation_is_found_greedy(http: httpx.Client) -> None:
    tokens = [*ids_of(http, PROMPT), *greedy_ids(http, 3)]
    made = ask(http, prompt=PROMPT, max_tokens=3, logprobs=0)["choices"][0]["logprobs"]
    body: Any = {"prompt": [tokens], "max_tokens": 1, "logprobs": 1, "echo": True}
    scored = ask(http, **body)["choices"][0]["logprobs"]
    assert scored["tokens"][-4:-1] == made["tokens"]
    pairs = zip(scored["token_logprobs"][-4:-1], scored["top_logprobs"][-4:-1], strict=True)
    assert all(value == max(top.values()) for value, top in pairs)


@pytest.mark.parametrize("max_tokens", [0, 3])
def test_13_an_echo_shows_where_each_token_begins_in_its_text(
    http: httpx.Client, max_tokens: int
) -> None:
    for prompt in (PROMPT, ids_of(http, PROMPT), "Zürich 🚀 x", ids_of(http, "Zürich 🚀 x")):
        fields: Any = {"prompt": prompt, "max_tokens": max_tokens, "echo": True}
        choice = ask(http, logprobs=0, **fields)["choices"][0]
        assert choice["text"] == ask(http, **fields)["choices"][0]["text"]
        logprobs = choice["logprobs"]
        assert logprobs["text_offset"] == sorted(logprobs["text_offset"])
        for name, offset in zip(logprobs["tokens"], logprobs["text_offset"], strict=True):
            if not name.startswith("token_id:"):
                assert choice["text"][offset:].startswith(name)


def test_13_an_echo_without_new_tokens_counts_none(http: httpx.Client, near: Any) -> None:
    answer = ask(http, prompt=PROMPT, max_tokens=0, logprobs=2, echo=True)
    choice, tokens = answer["choices"][0], ids_of(http, PROMPT)
    assert (choice["text"], choice["finish_reason"]) == (PROMPT, "length")
    assert len(choice["logprobs"]["tokens"]) == len(tokens)
    assert answer["usage"]["completion_tokens"] == 0
    more = ask(http, prompt=PROMPT, max_tokens=1, logprobs=2, echo=True)["choices"][0]["logprobs"]
    assert more["tokens"][:-1] == choice["logprobs"]["tokens"]
    assert more["token_logprobs"][1:-1] == near(choice["logprobs"]["token_logprobs"][1:])


@pytest.mark.parametrize("fields", [{"echo": True}, {"prompt_logprobs": 2}, {"n": 2, "echo": True}])
def test_13_a_stream_says_what_the_whole_answer_says(
    http: httpx.Client, near: Any, fields: Any
) -> None:
    given: Any = {"prompt": [PROMPT, OTHER], "max_tokens": 3, "logprobs": 1, "seed": 1} | fields
    whole = ask(http, **given)["choices"]
    parts: dict[int, list[Any]] = {i: [] for i in range(len(whole))}
    for chunk in chunks(http, **given):
        for choice in chunk["choices"]:
            parts[choice["index"]].append(choice)
    for i, choice in enumerate(whole):
        assert "".join(part["text"] for part in parts[i]) == choice["text"]
        values = [v for p in parts[i] if p["logprobs"] for v in p["logprobs"]["token_logprobs"]]
        assert len(values) == len(choice["logprobs"]["token_logprobs"])
        assert values[1:] == near(choice["logprobs"]["token_logprobs"][1:])
        offsets = [v for p in parts[i] if p["logprobs"] for v in p["logprobs"]["text_offset"]]
        assert offsets == choice["logprobs"]["text_offset"]
        listed = [part["prompt_logprobs"] for part in parts[i] if "prompt_logprobs" in part]
        wanted = [choice["prompt_logprobs"]] if "prompt_logprobs" in fields else []
        assert [list(map(_ranks, each)) for each in listed] == [
            list(map(_ranks, each)) for each in wanted
        ]


def _ranks(entries: Any) -> Any:
    return entries and {token: each["rank"] for token, each in entries.items()}


def test_13_prompt_logprobs_are_as_in_vllms_answer(http: httpx.Client, near: Any) -> None:
    tokens = ids_of(http, PROMPT)
    answer = ask(http, prompt=PROMPT, max_tokens=1, prompt_logprobs=2, n=2)
    first, again = (choice["prompt_logprobs"] for choice in answer["choices"])
    assert first == again
    assert (first[0], len(first)) == (None, len(tokens))
    for token, entries, value in zip(tokens[1:], first[1:], told(http, tokens), strict=True):
        assert 2 <= len(entries) <= 3
        assert set(entries[str(token)]) == {"logprob", "rank", "decoded_token"}
        assert entries[str(token)]["logprob"] == near(value)
        assert sorted(each["rank"] for each in entries.values())[:2] == [1, 2]
        by_rank = sorted(entries.values(), key=lambda each: each["rank"])
        assert by_rank == sorted(by_rank, key=lambda each: -each["logprob"])
    none = ask(http, prompt=PROMPT, max_tokens=1, prompt_logprobs=0)["choices"][0]
    assert [list(each) for each in none["prompt_logprobs"][1:]] == [[str(t)] for t in tokens[1:]]
    assert "prompt_logprobs" not in ask(http, prompt=PROMPT, max_tokens=1)["choices"][0]


def test_13_a_patched_prompt_is_scored_patched(http: httpx.Client, near: Any) -> None:
    tokens = ids_of(http, PROMPT)
    patch = [ZEROS | {"dest_position": 4}]
    answer = ask(http, prompt=PROMPT, max_tokens=0, echo=True, logprobs=0, patch=patch)
    found = answer["choices"][0]["logprobs"]["token_logprobs"][1:]
    assert found[:4] == near(told(http, tokens)[:4])
    for i in range(5, len(tokens)):
        assert found[i - 1] == near(after(http, tokens[:i], tokens[i], patch=patch))
    assert found[4:] != told(http, tokens)[4:]


def test_13_a_chat_scores_its_prompt_once(http: httpx.Client) -> None:
    said: Any = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 2}
    answer = ask(http, CHAT, prompt_logprobs=1, n=2, **said)
    tokens = http.post("/tokenize", json={"messages": said["messages"]}).json()["tokens"]
    listed = answer["prompt_logprobs"]
    assert listed[0] is None
    assert all(str(token) in each for token, each in zip(tokens[1:], listed[1:], strict=True))
    streamed = list(chunks(http, CHAT, prompt_logprobs=1, n=2, **said))
    assert ["prompt_logprobs" in chunk for chunk in streamed] == [True] + [False] * (
        len(streamed) - 1
    )
    assert len(streamed[0]["prompt_logprobs"]) == len(tokens)


def test_13_limits_narrow_what_is_drawn(http: httpx.Client) -> None:
    given: Any = {"prompt": PROMPT, "max_tokens": 6}
    greedy = ask(http, **given)["choices"][0]["text"]
    hot = given | {"temperature": 2, "seed": 3}
    for limit in ({"top_k": 1}, {"min_p": 1}, {"top_k": 1, "min_p": 0.1, "top_p": 0.9}):
        assert ask(http, **hot | limit)["choices"][0]["text"] == greedy
    for none in ({}, {"top_k": 0}, {"top_k": -1}, {"min_p": 0}, {"repetition_penalty": 1}):
        assert ask(http, **hot | none)["choices"][0]["text"] != greedy


def test_13_draws_of_top_k_are_among_the_likeliest(http: httpx.Client) -> None:
    best = ask(http, prompt=PROMPT, max_tokens=1, logprobs=3)["choices"][0]["logprobs"]
    hot: Any = {"prompt": PROMPT, "max_tokens": 1, "temperature": 2, "n": 60, "logprobs": 0}
    drawn = [
        choice["logprobs"]["tokens"][0] for choice in ask(http, top_k=3, seed=5, **hot)["choices"]
    ]
    assert set(drawn) <= set(best["top_logprobs"][0])
    assert len(set(drawn)) > 1


def test_13_a_repetition_penalty_changes_the_text_and_no_log_probability(
    http: httpx.Client, near: Any
) -> None:
    given: Any = {"prompt": PROMPT, "max_tokens": 8, "logprobs": 0}
    penal = ask(http, repetition_penalty=1000, **given)["choices"][0]["logprobs"]
    assert len(set(penal["tokens"])) == 8
    assert not set(penal["tokens"]) & {" city", " of", " the", " Tower"}
    plain = ask(http, prompt=PROMPT, max_tokens=1, logprobs=128)["choices"][0]["logprobs"]
    assert penal["token_logprobs"][0] == near(plain["top_logprobs"][0][penal["tokens"][0]])


def test_13_a_stop_string_or_token_is_the_reason_and_part_of_the_text_if_wanted(
    http: httpx.Client,
) -> None:
    given: Any = {"prompt": PROMPT, "max_tokens": 10}
    whole = ask(http, **given)["choices"][0]
    assert (whole["finish_reason"], whole["stop_reason"]) == ("length", None)
    stop = whole["text"][5:8]
    end = whole["text"].index(stop)
    for included in (False, True):
        fields: Any = {"stop": ["no such", stop], "include_stop_str_in_output": included}
        answers = [ask(http, **given | fields)["choices"][0]]
        *texts, last = [chunk["choices"][0] for chunk in chunks(http, **given | fields)]
        text = "".join(each["text"] for each in [*texts, last])
        answers.append(last | {"text": text})
        for choice in answers:
            assert choice["text"] == whole["text"][: end + len(stop) * included]
            assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", stop)


def test_13_a_stop_token_waits_for_min_tokens(http: httpx.Client) -> None:
    free = greedy_ids(http, 3)
    given: Any = {"prompt": PROMPT, "max_tokens": 6, "logprobs": 0}
    stopped = ask(http, stop_token_ids=free[2:], **given)["choices"][0]
    assert (stopped["finish_reason"], stopped["stop_reason"]) == ("stop", free[2])
    count = free.index(free[2]) + 1
    assert len(stopped["logprobs"]["tokens"]) == count
    shown = http.post("/detokenize", json={"tokens": free[: count - 1]}).json()["prompt"]
    assert stopped["text"] == shown
    kept = ask(http, stop_token_ids=free[2:], include_stop_str_in_output=True, **given)
    shown = http.post("/detokenize", json={"tokens": free[:count]}).json()["prompt"]
    assert kept["choices"][0]["text"] == shown
    later = ask(http, stop_token_ids=free, min_tokens=4, **given)["choices"][0]
    assert len(later["logprobs"]["tokens"]) >= 4
    assert later["logprobs"]["tokens"][0] != stopped["logprobs"]["tokens"][0]


def test_13_a_stop_string_waits_for_min_tokens(http: httpx.Client) -> None:
    given: Any = {"prompt": PROMPT, "max_tokens": 8, "logprobs": 0}
    whole = ask(http, **given)["choices"][0]
    first = whole["text"][:2]
    early = ask(http, stop=first, **given)["choices"][0]
    assert (early["text"], early["stop_reason"]) == ("", first)
    late = ask(http, stop=first, min_tokens=8, **given)["choices"][0]
    assert (late["text"], late["finish_reason"]) == (whole["text"], "length")


def test_13_a_message_is_continued(http: httpx.Client) -> None:
    said = [{"role": "user", "content": "The Eiffel Tower is in"}]
    begun = [*said, {"role": "assistant", "content": " the city of"}]
    going_on = {"continue_final_message": True, "add_generation_prompt": False}
    tokens = http.post("/tokenize", json={"messages": begun} | going_on).json()["tokens"]
    expected = ask(http, prompt=tokens, max_tokens=4)["choices"][0]["text"]
    answer = ask(http, CHAT, messages=begun, max_tokens=4, **going_on)
    assert answer["choices"][0]["message"]["content"] == expected
    assert answer["usage"]["prompt_tokens"] == len(tokens)


@pytest.mark.parametrize(
    ("route", "fields", "param"),
    [
        (ROUTE, {"prompt_logprobs": -1}, "prompt_logprobs"),
        (ROUTE, {"prompt_logprobs": 129}, "prompt_logprobs"),
        (ROUTE, {"prompt": [[5] * 60] * 300, "prompt_logprobs": 20}, "prompt_logprobs"),
        (ROUTE, {"prompt": [[5] * 60] * 300, "echo": True, "logprobs": 20}, "echo"),
        (ROUTE, {"echo": True, "logprobs": 1, "max_tokens": 0, "logprob_token_ids": [5]},
         "logprob_token_ids"),
        (ROUTE, {"top_k": -2}, "top_k"),
        (ROUTE, {"min_p": 1.1}, "min_p"),
        (ROUTE, {"min_tokens": 3}, "min_tokens"),
        (ROUTE, {"min_tokens": -1}, "min_tokens"),
        (ROUTE, {"repetition_penalty": 0}, "repetition_penalty"),
        (ROUTE, {"repetition_penalty": 1e9}, "repetition_penalty"),
        (ROUTE, {"stop_token_ids": [10**6]}, "stop_token_ids"),
        (ROUTE, {"stop_token_ids": [1] * 65}, "stop_token_ids"),
        (ROUTE, {"continue_final_message": True}, "continue_final_message"),
        (CHAT, {"continue_final_message": True, "add_generation_prompt": True},
         "continue_final_message"),
        (CHAT, {"echo": True}, "echo"),
        (CHAT, {"messages": [{"role": "user", "content": "refuse"}], "min_tokens": 9},
         "min_tokens"),
    ],
)  # fmt: skip
def test_13_what_cannot_be_given_is_refused_by_name(
    http: httpx.Client, route: str, fields: Any, param: str
) -> None:
    said = (
        {"prompt": PROMPT} if route == ROUTE else {"messages": [{"role": "user", "content": "a"}]}
    )
    for stream in (False, True):
        answer = http.post(route, json=said | {"max_tokens": 2, "stream": stream} | fields)
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["param"] == param


def test_13_a_prompt_as_long_as_may_be_is_scored_up_to_one_token(http: httpx.Client) -> None:
    most = http.post("/tokenize", json={"prompt": PROMPT}).json()["max_model_len"]
    fields: Any = {"echo": True, "logprobs": 0, "max_tokens": 0}
    scored = ask(http, prompt=[5] * (most - 1), **fields)["choices"][0]["logprobs"]
    assert len(scored["token_logprobs"]) == most - 1
    answer = http.post(ROUTE, json={"prompt": [5] * most} | fields)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "max_tokens")
    assert "need room for one more" in answer.json()["error"]["message"]
