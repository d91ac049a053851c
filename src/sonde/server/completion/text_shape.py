"""The shape of `/v1/completions`."""

from collections.abc import Sequence

from sonde.schema import Completion, CompletionChoice, Logprobs, Wire
from sonde.server.completion.shape import Choice, Tally
from sonde.server.completion.showing import PromptShown, TokenShown
from sonde.server.completion.work import ChoiceDelta


class TextShape:
    """Chunks and the whole look alike here."""

    def whole(self, tally: Tally, choices: Sequence[Choice]) -> Completion:
        """The answer in one piece."""
        wanted = tally.asked.shown.wanted
        made = [
            CompletionChoice(
                index=i,
                text=choice.text,
                logprobs=_logprobs(choice.shown) if wanted else None,
                finish_reason=choice.finish,
                stop_reason=choice.reason,
                prompt_logprobs=choice.listed,
            )
            for i, choice in enumerate(choices)
        ]
        found = {"usage": tally.usage(), "capture_results": tally.capture_results()}
        return _completion(tally, made).model_copy(update=found)

    def chunks(self, tally: Tally, piece: ChoiceDelta) -> list[Wire]:
        """One chunk, when there is text, a token to show or an end."""
        if not (piece.text or piece.shown or piece.finish or piece.prompt):
            return []
        shown = [] if piece.shown is None else [piece.shown]
        prompt = PromptShown() if piece.prompt is None else piece.prompt
        choice = CompletionChoice(
            index=piece.index,
            text=piece.text,
            logprobs=_logprobs([*prompt.echoed, *shown]) if prompt.echoed or shown else None,
            finish_reason=piece.finish,
            stop_reason=piece.reason,
            prompt_logprobs=prompt.listed,
        )
        chunk = _completion(tally, [choice])
        if tally.last(piece):
            chunk = chunk.model_copy(update={"capture_results": tally.capture_results()})
        return [chunk]

    def usage(self, tally: Tally) -> Completion:
        """No choices, and the count."""
        return _completion(tally, []).model_copy(update={"usage": tally.usage()})


def _completion(tally: Tally, choices: list[CompletionChoice]) -> Completion:
    return Completion(
        id=tally.asked.id,
        created=tally.created,
        model=tally.asked.model.name,
        system_fingerprint=tally.asked.model.weights,
        choices=choices,
    )


def _logprobs(shown: Sequence[TokenShown]) -> Logprobs:
    return Logprobs(
        tokens=[each.chosen.name for each in shown],
        token_logprobs=[each.chosen.logprob if each.scored else None for each in shown],
        top_logprobs=[_top(each) if each.scored else None for each in shown],
        text_offset=[each.offset for each in shown],
    )


def _top(shown: TokenShown) -> dict[str, float]:
    return {named.name: named.logprob for named in shown.others}
