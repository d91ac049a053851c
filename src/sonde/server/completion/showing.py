"""Log-probabilities as answers show them: of generated tokens, and of the prompt's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sonde.backends.base import GeneratedToken, PromptToken
from sonde.schema.completion import PromptLogprob, PromptLogprobs
from sonde.server.completion.admit import Prompt, PromptScoring
from sonde.server.completion.naming import Named, TokenNames


@dataclass(frozen=True)
class TokenShown:
    """One token with the log-probabilities that were asked for."""

    chosen: Named
    others: tuple[Named, ...]
    """The chosen token among the likeliest ones, or among the ones asked for; likeliest first."""
    offset: int
    """Where its text begins in the choice's."""
    scored: bool = True
    """Whether it has a log-probability: a prompt's first token comes after nothing."""


@dataclass(frozen=True)
class PromptShown:
    """What is shown of a prompt; the same in all of its choices."""

    echoed: tuple[TokenShown, ...] = ()
    """Its tokens, where they stand before the generated ones."""
    listed: PromptLogprobs | None = None
    """Its tokens by id, where they are shown by themselves."""


def token_shown(made: GeneratedToken, fresh: str, offset: int, names: TokenNames) -> TokenShown:
    """A token that brought `fresh` text: its own, and before it what it did not complete."""
    others = names.ranked({**made.logprobs, made.token: made.logprob})
    chosen = next(named for named in others if named.token == made.token)
    if chosen.text and fresh.endswith(chosen.text):
        offset += len(fresh) - len(chosen.text)
    return TokenShown(chosen, tuple(others), offset)


def prompt_shown(
    prompt: Prompt, scored: Sequence[PromptToken], wanted: PromptScoring, names: TokenNames
) -> PromptShown:
    """What was asked for of a prompt; `scored` are its tokens from the second on."""
    echoed: tuple[TokenShown, ...] = ()
    if wanted.echoed is not None:
        first = TokenShown(names.named(prompt.tokens[0], 0.0), (), prompt.offsets[0], scored=False)
        rest = zip(scored, prompt.offsets[1:], strict=True)
        most = wanted.echoed
        echoed = (first, *(_echoed(token, most, offset, names) for token, offset in rest))
    listed: PromptLogprobs | None = None
    if wanted.listed is not None:
        listed = [None, *(_listed(token, wanted.listed, names) for token in scored)]
    return PromptShown(echoed, listed)


def _first(logprobs: Mapping[int, float], most: int) -> dict[int, float]:
    return dict(islice(logprobs.items(), most))


def _echoed(token: PromptToken, most: int, offset: int, names: TokenNames) -> TokenShown:
    found = GeneratedToken(token.token, token.logprob, _first(token.likeliest, most))
    return token_shown(found, "", offset, names)


def _listed(token: PromptToken, most: int, names: TokenNames) -> dict[str, PromptLogprob]:
    """The token itself first, then the likeliest by their rank."""
    likeliest = enumerate(_first(token.likeliest, most).items(), start=1)
    entries = {token.token: (token.rank, token.logprob)}
    entries |= {other: (rank, logprob) for rank, (other, logprob) in likeliest}
    return {
        str(each): _entry(names.named(each, logprob), rank)
        for each, (rank, logprob) in entries.items()
    }


def _entry(named: Named, rank: int) -> PromptLogprob:
    return PromptLogprob.model_construct(logprob=named.logprob, rank=rank, decoded_token=named.text)
