"""What clients of other patching servers send and read, call by call, as they do it.

Deliberately written without `sonde.client`: it stands for programs that nobody is going to change.
Completions go through the `openai` package; sweeps and tokens through httpx, line by line.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import openai

Body = dict[str, Any]


class LibraryClient:
    """The client library: bodies with their nulls, `data: ` with its space, and a summary."""

    def __init__(self, url: str) -> None:
        self.base, self.root = f"{url}/v1", url
        self.openai = openai.OpenAI(base_url=self.base, api_key="unused", max_retries=0)
        self.http = httpx.Client(timeout=None)

    def __enter__(self) -> "LibraryClient":
        return self

    def __exit__(self, *exception: object) -> None:
        self.openai.close()
        self.http.close()

    def tokens(self, text: str, *, special: bool = True) -> list[int]:
        """Without a key: the route is open."""
        body = {"model": "tiny", "prompt": text, "add_special_tokens": special}
        response = self.http.post(f"{self.root}/tokenize", json=body, timeout=10)
        response.raise_for_status()
        tokens: list[int] = response.json()["tokens"]
        return tokens

    def decoded(self, tokens: list[int]) -> str:
        body = {"model": "tiny", "tokens": tokens}
        response = self.http.post(f"{self.root}/detokenize", json=body, timeout=10)
        response.raise_for_status()
        return str(response.json()["prompt"])

    def span(self, prompt: str, text: str) -> list[int]:
        """Offsets by decoding `tokens[:1]`, `tokens[:2]`, … one call each."""
        tokens = self.tokens(prompt)
        ends = [len(self.decoded(tokens[: n + 1])) for n in range(len(tokens))]
        starts = [0, *ends[:-1]]
        begin = self.decoded(tokens).index(text)
        return [
            n
            for n, (start, end) in enumerate(zip(starts, ends, strict=True))
            if start < begin + len(text) and end > begin
        ]

    def completion(self, prompt: str, answer: str, **extra: Any) -> Any:
        """One greedy token, graded by id."""
        [token] = self.tokens(answer, special=False)
        return self.openai.completions.create(
            model="tiny",
            prompt=prompt,
            max_tokens=1,
            temperature=0.0,
            logprobs=1,
            extra_body={"logprob_token_ids": [token], **extra},
        )

    def capture(self, prompt: str, run: str, answer: str) -> tuple[int, float]:
        source = {"run": run, "hooks": {"post_block": "all"}, "positions": "all_prompt"}
        made = self.completion(prompt, answer, capture={"patch_source": source}, capture_wait=True)
        return made.usage.prompt_tokens, logprob(made, answer)

    def cell(
        self, prompt: str, answer: str, run: str, layer: int, position: int, source: int
    ) -> float:
        patch = {
            "layer": layer,
            "hook": "post_block",
            "dest_position": position,
            "source_run": run,
            "source_position": source,
            "alpha": 1.0,
        }
        return logprob(self.completion(prompt, answer, patch=[patch]), answer)

    def sweep_body(self, **changes: Any) -> Body:
        """What it always sends, nulls included, and never a token id."""
        return {
            "model": "tiny",
            "prompt": "The Colosseum is in the city of",
            "hook": "post_block",
            "layers": [0, 1, 2, 3],
            "positions": "all_prompt",
            "alpha": 1.0,
            "answer_token": " Paris",
            "foil_token": None,
            "metric": "logprob",
            "logprobs": 20,
            "stream": False,
            "source_run": uuid.uuid4().hex,
            "clean_prompt": None,
            "clean_baseline": None,
            "keep_source": False,
        } | changes

    def sweep(self, body: Body) -> Body:
        response = self.http.post(f"{self.base}/patch_sweep", json=body)
        response.raise_for_status()
        found: Body = response.json()
        return found

    def streamed(self, body: Body) -> tuple[list[Body], Body]:
        """Cells as they come, and the summary; a stream without one is a `RuntimeError`."""
        cells, summary = [], None
        with self.http.stream("POST", f"{self.base}/patch_sweep", json=body) as response:
            response.raise_for_status()
            assert not response.headers["content-type"].startswith("application/json")
            for line in response.iter_lines():
                if not line.startswith("data: "):
                    continue
                data = line[len("data: ") :]
                if data == "[DONE]":
                    break
                event = json.loads(data)
                if event["type"] == "cell":
                    cells.append(event)
                elif event["type"] == "summary":
                    summary = event
        if summary is None:
            raise RuntimeError("stream ended without a summary")
        return cells, summary

    def drop(self, run: str) -> bool:
        response = self.http.delete(f"{self.base}/patch_source/{run}")
        return response.status_code == 200 and response.json()["dropped"] is True


def logprob(made: Any, answer: str) -> float:
    """The answer's log-probability, under its exact text."""
    value: float = made.choices[0].logprobs.top_logprobs[0][answer]
    return value


class Dashboard:
    """The dashboard's streaming client: a browser's `fetch`, blocks cut at blank lines."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.run = f"dash-{uuid.uuid4().hex[:12]}"

    def body(self, **changes: Any) -> Body:
        """Layers as a range, always `hooks`, no `model` while that field is blank."""
        return {
            "prompt": "The Colosseum is in the city of",
            "clean_prompt": "The Eiffel Tower is in the city of",
            "source_run": self.run,
            "layers": {"start": 0, "stop": 4, "step": 2},
            "positions": "all_prompt",
            "hooks": ["post_block", "mlp_out"],
            "answer_token": " Paris",
            "metric": "recovered",
            "stream": True,
        } | changes

    def events(self, body: Body) -> Iterator[Body]:
        """Every event with a `type`, known or not; comments and `[DONE]` are none."""
        headers = {"accept": "*/*", "origin": self.url, "sec-fetch-mode": "cors"}
        request = httpx.stream(
            "POST", f"{self.url}/v1/patch_sweep", json=body, headers=headers, timeout=None
        )
        with request as response:
            if response.status_code != 200:
                response.read()
                raise RuntimeError(response.json()["error"])
            assert "text/event-stream" in response.headers["content-type"]
            waiting = ""
            for text in response.iter_text():
                *blocks, waiting = (waiting + text).split("\n\n")
                for block in blocks:
                    if block.startswith("data:") and (data := block[5:].strip()) != "[DONE]":
                        yield json.loads(data)

    def labels(self, prompt: str) -> list[str]:
        """Tokens under the columns; the id where there is no text."""
        with httpx.Client(base_url=self.url) as client:
            tokens = client.post("/tokenize", json={"prompt": prompt}).json()["tokens"]
            texts = [
                client.post("/detokenize", json={"tokens": [token]}).json()["prompt"]
                for token in tokens
            ]
        return [text or str(token) for text, token in zip(texts, tokens, strict=True)]
