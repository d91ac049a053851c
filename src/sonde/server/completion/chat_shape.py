"""The shape of `/v1/chat/completions`."""

from collections.abc import Sequence

from sonde.schema import (
    Answer,
    ChatChoice,
    ChatChunk,
    ChatCompletion,
    ChatLogprobs,
    ChatToken,
    ChunkChoice,
    Delta,
    TokenLogprob,
    Wire,
)
from sonde.server.completion.naming import Named
from sonde.server.completion.shape import Choice, Tally
from sonde.server.completion.showing import TokenShown
from sonde.server.completion.work import ChoiceDelta


class ChatShape:
    """A whole message, or its parts. Made for one answer: it knows which choices have begun."""

    def __init__(self) -> None:
        self._begun: set[int] = set()

    def whole(self, tally: Tally, choices: Sequence[Choice]) -> ChatCompletion:
        """The answer in one piece."""
        wanted = tally.asked.shown.wanted
        return ChatCompletion(
            id=tally.asked.id,
            created=tally.created,
            model=tally.asked.model.name,
            system_fingerprint=tally.asked.model.weights,
            choices=[
                ChatChoice(
                    index=i,
                    message=Answer(content=choice.text),
                    logprobs=_logprobs(choice.shown) if wanted else None,
                    finish_reason=choice.finish or "length",
                    stop_reason=choice.reason,
                )
                for i, choice in enumerate(choices)
            ],
            usage=tally.usage(),
            prompt_logprobs=choices[0].listed,
            capture_results=tally.capture_results(),
        )

    def chunks(self, tally: Tally, piece: ChoiceDelta) -> list[Wire]:
        """First who speaks, then what is said, then why it ended."""
        out: list[Wire] = []
        if piece.index not in self._begun:
            listed = piece.prompt.listed if piece.prompt and not self._begun else None
            self._begun.add(piece.index)
            begins = _chunk(tally, piece.index, Delta(role="assistant", content=""))
            out.append(begins.model_copy(update={"prompt_logprobs": listed}))
        if piece.text or piece.shown:
            logprobs = None if piece.shown is None else _logprobs([piece.shown])
            out.append(_chunk(tally, piece.index, Delta(content=piece.text), logprobs))
        if piece.finish:
            end = ChunkChoice(
                index=piece.index,
                delta=Delta(),
                logprobs=None,
                finish_reason=piece.finish,
                stop_reason=piece.reason,
            )
            results = tally.capture_results() if tally.last(piece) else None
            out.append(_with(tally, [end]).model_copy(update={"capture_results": results}))
        return out

    def usage(self, tally: Tally) -> ChatChunk:
        """No choices, and the count."""
        return _with(tally, []).model_copy(update={"usage": tally.usage()})


def _chunk(
    tally: Tally, index: int, delta: Delta, logprobs: ChatLogprobs | None = None
) -> ChatChunk:
    choice = ChunkChoice(index=index, delta=delta, logprobs=logprobs, finish_reason=None)
    return _with(tally, [choice])


def _with(tally: Tally, choices: list[ChunkChoice]) -> ChatChunk:
    return ChatChunk(
        id=tally.asked.id,
        created=tally.created,
        model=tally.asked.model.name,
        system_fingerprint=tally.asked.model.weights,
        choices=choices,
    )


def _logprobs(shown: Sequence[TokenShown]) -> ChatLogprobs:
    return ChatLogprobs(content=[_token(each) for each in shown])


def _token(shown: TokenShown) -> ChatToken:
    chosen = shown.chosen
    return ChatToken(
        token=chosen.name,
        logprob=chosen.logprob,
        bytes=_bytes(chosen),
        top_logprobs=[
            TokenLogprob(token=each.name, logprob=each.logprob, bytes=_bytes(each))
            for each in shown.others
        ],
    )


def _bytes(named: Named) -> list[int] | None:
    return None if named.text is None else list(named.text.encode())
