"""Completions side by side have the tokens that each has alone, edited or not."""

from dataclasses import replace

import numpy as np
import pytest

from sonde.backends.base import FromVector, GenerateRequest, Site, Write
from sonde.backends.edit import Edit, Passing, Rows
from sonde.backends.torch import side_by_side
from sonde.backends.torch.backend import TorchBackend
from sonde.errors import BadRequest, HookNeverFired
from sonde.schema import Hook
from tests.architectures import WIDTH
from tests.backends.torch.tiny import tiny_backend

PROMPTS = [[5, 40, 7], [9] * 30, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]]
N = 20


def requests(**fields: object) -> list[GenerateRequest]:
    given = {"max_tokens": N, "temperature": 1.0, **fields}
    return [
        GenerateRequest(tuple(tokens), seed=seed, **given)  # type: ignore[arg-type]
        for seed, tokens in enumerate(PROMPTS * 2)
    ]


def alone(backend: TorchBackend, request: GenerateRequest) -> tuple[int, ...]:
    return tuple(made.token for made in backend.generate(request))


def together(
    backend: TorchBackend, asked: list[GenerateRequest], edit: Edit | None = None
) -> list[tuple[int, ...]]:
    found = {each.number: each.tokens for ended in backend.sample(asked, edit) for each in ended}
    assert len(found) == len(asked)
    return [found[number] for number in range(len(asked))]


def adding(layer: int, vector: Rows, reads: str = "post_block", writes: str = "post_block") -> Edit:
    def added(passing: Passing) -> Rows:
        return np.repeat(vector[None], len(passing.rows), 0)

    return Edit(layer, reads, writes, added)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2", "qwen3"])
def test_each_completion_has_the_tokens_it_has_alone(name: str) -> None:
    backend, asked = tiny_backend(name), requests()
    found = together(backend, asked)
    assert found == [alone(backend, request) for request in asked]
    assert len(set(found)) == len(asked), "each has draws of its own"


def test_completions_end_at_stop_tokens_and_leave_the_others_alone() -> None:
    backend = tiny_backend()
    free = together(backend, requests())
    stops = frozenset(tokens[4] for tokens in free)
    asked = requests(stop_ids=stops)
    found = together(backend, asked)
    assert found == [alone(backend, request) for request in asked]
    assert min(map(len, found)) < N


def test_how_many_fit_at_once_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = tiny_backend()
    expected = together(backend, requests())
    monkeypatch.setattr(backend, "_budget", 1)
    assert together(backend, requests()) == expected
    monkeypatch.setattr(side_by_side, "LOGITS", 2)
    assert together(backend, requests()) == expected


def test_writes_at_single_positions_are_made_in_the_completion_that_asks_for_them() -> None:
    backend = tiny_backend()
    draw = np.random.default_rng(0)
    hooks: tuple[Hook, Hook] = ("post_block", "mlp_out")
    asked = [
        replace(
            request,
            writes=tuple(
                Write(Site(hook, 1, (at,)), FromVector(draw.normal(0, 9, WIDTH).astype("f4")))
                for hook, at in zip(hooks, (2, len(request.tokens) + 3), strict=True)
            ),
        )
        for request in requests()[:3]
    ]
    mixed = [*asked, *requests()]
    found = together(backend, mixed)
    assert found == [alone(backend, request) for request in mixed]
    assert found[:3] != found[3:6]


@pytest.mark.parametrize("layer", [0, 1])
def test_an_edit_is_made_at_every_position_of_prompt_and_completion(layer: int) -> None:
    """As far as it hangs on nothing, it is a write to all of them."""
    backend = tiny_backend()
    vector = np.random.default_rng(1).normal(0, 2, WIDTH).astype(np.float32)
    hooks: list[Hook] = ["post_block", "mlp_out"]
    for hook in hooks:
        found = together(backend, requests(), adding(layer, vector, hook, hook))
        for request, tokens in zip(requests(), found, strict=True):
            every = tuple(range(len(request.tokens) + N - 1))
            write = Write(Site(hook, layer, every), FromVector(vector), how="add")
            assert tokens == alone(backend, replace(request, writes=(write,)))
        assert found != together(backend, requests())


def test_an_edit_that_adds_nothing_changes_nothing() -> None:
    backend = tiny_backend()
    nothing = np.zeros(WIDTH, dtype=np.float32)
    for hook in ("pre_attn", "mlp_in", "post_block"):
        assert together(backend, requests(), adding(1, nothing, hook, hook)) == together(
            backend, requests()
        )


def test_an_edit_is_told_each_token_once_with_its_place() -> None:
    backend = tiny_backend()
    seen: list[tuple[int, int]] = []

    def note(passing: Passing) -> Rows:
        seen.extend(zip(passing.sequence.tolist(), passing.position.tolist(), strict=True))
        return np.zeros_like(passing.rows)

    found = together(backend, requests(), Edit(0, "mlp_in", "mlp_out", note))
    expected = [
        (number, at)
        for number, request in enumerate(requests())
        for at in range(len(request.tokens) + len(found[number]) - 1)
    ]
    assert sorted(seen) == expected


def test_what_is_read_later_cannot_say_what_is_written_before() -> None:
    backend = tiny_backend()
    nothing = np.zeros(WIDTH, dtype=np.float32)
    with pytest.raises(HookNeverFired, match="mlp_in comes before mlp_out"):
        together(backend, requests(), adding(0, nothing, "mlp_out", "mlp_in"))


def test_what_is_not_told_side_by_side_is_refused() -> None:
    backend = tiny_backend()
    with pytest.raises(BadRequest, match="tell tokens only"):
        together(backend, requests(top_logprobs=2))
    nothing = np.zeros(WIDTH, dtype=np.float32)
    with pytest.raises(BadRequest, match="q is a hook of heads"):
        together(backend, requests(), adding(0, nothing, "q", "q"))
    recurrent = tiny_backend("mamba")
    with pytest.raises(BadRequest, match="need the packed path"):
        together(recurrent, requests())
