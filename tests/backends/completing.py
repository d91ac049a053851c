"""Identities of completions that hold for any backend over any weights: scored prompts, and limits.

The rest of the suite comes with them: subclass `CompletionIdentities`.
"""

import numpy as np

from sonde.backends.base import (
    FromVector,
    GenerateRequest,
    Row,
    Work,
    logprobs_of,
    write_at,
)
from sonde.schema import Hook
from tests.backends.suite import Prompts
from tests.backends.summing import WriteIdentities


class CompletionIdentities(WriteIdentities):
    """What any backend must satisfy, its completions included."""

    def test_13_prompt_log_probabilities_are_those_of_scoring_each_token(
        self, prompts: Prompts
    ) -> None:
        tokens = prompts.clean
        request = GenerateRequest(tuple(tokens), 2, prompt_logprobs=0)
        first, second = prompts.backend.generate(request)
        assert [each.token for each in first.prompt] == tokens[1:]
        assert second.prompt == ()
        found = np.array([each.logprob for each in first.prompt])
        ends = range(1, len(tokens))
        told = [
            prompts.backend.baselines([(tokens[:i], logprobs_of([tokens[i]]))], [])[0][0]
            for i in ends
        ]
        assert self.same(found, np.array(told))
        plain = next(iter(prompts.backend.generate(GenerateRequest(tuple(tokens), 1))))
        assert plain.token == first.token
        assert plain.prompt == ()

    def test_13_prompt_log_probabilities_of_a_patched_prompt_are_those_of_its_beginnings(
        self, prompts: Prompts
    ) -> None:
        tokens, model, at = prompts.clean, prompts.model, len(prompts.clean) // 2
        values = np.random.default_rng(2).normal(size=model.width).astype(np.float32)
        where: list[tuple[Hook, int]] = [("post_block", 0), ("mlp_out", 0)]
        for hook, layer in [*where, ("post_block", model.n_layers - 1)]:
            patch = write_at(hook, layer, at, FromVector(values))
            request = GenerateRequest(tuple(tokens), 1, (patch,), prompt_logprobs=0)
            (made,) = prompts.backend.generate(request)
            for i in range(1, len(tokens)):
                row = Row((patch,) if at < i else ())
                (part,) = prompts.backend.score([Work(tokens[:i], [row], logprobs_of([tokens[i]]))])
                found, told = np.array([made.prompt[i - 1].logprob]), part.values[0]
                assert self.same(found, told), (hook, layer, i)

    def test_13_stop_tokens_wait_for_min_tokens(self, prompts: Prompts) -> None:
        tokens = tuple(prompts.corrupt)
        free = [made.token for made in prompts.backend.generate(GenerateRequest(tokens, 6))]
        stops = frozenset(free[:2])
        request = GenerateRequest(tokens, 6, stop_ids=stops, min_tokens=3)
        made = [each.token for each in prompts.backend.generate(request)]
        assert not stops & set(made[:3])
        assert len(made) >= 3
        (only,) = prompts.backend.generate(GenerateRequest(tokens, 6, stop_ids=stops))
        assert only.token == free[0]

    def test_13_a_min_p_of_one_leaves_the_single_likeliest_token(self, prompts: Prompts) -> None:
        tokens = tuple(prompts.corrupt)
        greedy = [made.token for made in prompts.backend.generate(GenerateRequest(tokens, 5))]
        request = GenerateRequest(tokens, 5, temperature=1.5, seed=3, min_p=1.0)
        assert [made.token for made in prompts.backend.generate(request)] == greedy

    def test_13_a_repetition_penalty_is_on_the_prompt_and_on_what_was_said(
        self, prompts: Prompts
    ) -> None:
        """A large penalty leaves no token a second time, and log-probabilities stay the model's."""
        tokens = tuple(prompts.corrupt)
        request = GenerateRequest(tokens, 6, repetition_penalty=1000.0)
        made = list(prompts.backend.generate(request))
        said = [each.token for each in made]
        assert len({*said, *tokens}) == 6 + len(set(tokens))
        told = prompts.backend.baselines([(prompts.corrupt, logprobs_of([said[0]]))], [])[0][0]
        assert abs(made[0].logprob - told) <= max(1e-4, self.tolerance)
