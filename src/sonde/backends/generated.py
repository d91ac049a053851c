"""What a backend tells of a token, of a completion or of its prompt."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PromptToken:
    """A token of the prompt, after those before it."""

    token: int
    logprob: float
    rank: int
    """1 is the likeliest."""
    likeliest: dict[int, float]
    """Log-probabilities of the `prompt_logprobs` likeliest, in their order."""


@dataclass(frozen=True)
class GeneratedToken:
    """One generated token."""

    token: int
    logprob: float
    logprobs: dict[int, float]
    """Log-probabilities of the ids asked for, and of the `top_logprobs` likeliest."""
    prompt: tuple[PromptToken, ...] = ()
    """With the first token, if asked for: the prompt's tokens from its second on."""
