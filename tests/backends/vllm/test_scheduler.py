"""Blocks of patched requests have names of their own, from the first patched one on."""

from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm")
pytestmark = pytest.mark.vllm

from sonde.backends.vllm.scheduler import keep_apart  # noqa: E402
from sonde.backends.vllm.spec import ARGUMENT, RequestSpec, WriteSpec  # noqa: E402

BLOCK = 4


class Request:
    """What the scheduler sees of a request: tokens, parameters, and names of full blocks."""

    def __init__(self, tokens: list[int], spec: RequestSpec | None) -> None:
        extra = {} if spec is None else {ARGUMENT: spec.to_plain()}
        self.sampling_params = SimpleNamespace(extra_args=extra)
        self.tokens = tokens
        self.block_hashes: list[bytes] = []
        self._block_hasher: Any = named
        self.update_block_hashes()
        keep_apart(self, BLOCK)

    def update_block_hashes(self) -> None:
        self.block_hashes.extend(self._block_hasher(self))

    def more(self, tokens: list[int]) -> "Request":
        self.tokens += tokens
        self.update_block_hashes()
        return self


def named(request: Request) -> list[bytes]:
    """As vLLM does it: each name holds the one before it."""
    out, before = [], request.block_hashes[-1] if request.block_hashes else b""
    for start in range(len(request.block_hashes) * BLOCK, len(request.tokens) - BLOCK + 1, BLOCK):
        before = sha256(before + bytes(request.tokens[start : start + BLOCK])).digest()
        out.append(before)
    return out


def patched(uid: str, position: int) -> RequestSpec:
    return RequestSpec(uid, (WriteSpec("mlp_in", 0, (position + 9, position), ()),))


TOKENS = list(range(16))


def test_below_the_patch_blocks_are_shared_and_above_it_never() -> None:
    plain = Request(TOKENS.copy(), None).block_hashes
    one = Request(TOKENS.copy(), patched("u", 9)).block_hashes
    two = Request(TOKENS.copy(), patched("v", 9)).block_hashes
    assert plain[:2] == one[:2] == two[:2]
    for k in (2, 3):
        assert len({plain[k], one[k], two[k]}) == 3


def test_a_patch_at_the_first_token_shares_nothing() -> None:
    plain = Request(TOKENS.copy(), None).block_hashes
    assert not set(plain) & set(Request(TOKENS.copy(), patched("u", 0)).block_hashes)


def test_blocks_of_generated_tokens_are_its_own_too() -> None:
    plain = Request(TOKENS.copy(), None).more([1, 2, 3, 4]).block_hashes
    one = Request(TOKENS.copy(), patched("u", 9)).more([1, 2, 3, 4]).block_hashes
    assert len(plain) == len(one) == 5
    assert plain[4] != one[4]


def test_a_patch_at_a_generated_position_leaves_the_whole_prompt_shared() -> None:
    plain = Request(TOKENS.copy(), None).more([1, 2, 3, 4]).block_hashes
    one = Request(TOKENS.copy(), patched("u", 17)).more([1, 2, 3, 4]).block_hashes
    assert plain[:4] == one[:4]
    assert plain[4] != one[4]


def test_a_request_that_only_reads_is_like_any_other() -> None:
    plain = Request(TOKENS.copy(), None).block_hashes
    assert Request(TOKENS.copy(), RequestSpec("u")).block_hashes == plain


def test_names_keep_their_length() -> None:
    assert {len(name) for name in Request(TOKENS.copy(), patched("u", 9)).block_hashes} == {32}
