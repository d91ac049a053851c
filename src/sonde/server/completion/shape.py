"""What an answer looks like: whole, or in chunks. One file for each of OpenAI's two shapes.

`Tally` gathers what came; a `Shape` writes it down.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sonde.schema import CaptureResult, FinishReason, SourceRun, Usage, Wire
from sonde.schema.completion import PromptLogprobs
from sonde.server.completion.admit import AdmittedRequest
from sonde.server.completion.showing import TokenShown
from sonde.server.completion.work import ChoiceDelta, CompletionItem


@dataclass
class Choice:
    """One choice so far."""

    text: str = ""
    shown: list[TokenShown] = field(default_factory=list)
    finish: FinishReason | None = None
    reason: str | int | None = None
    listed: PromptLogprobs | None = None

    def add(self, piece: ChoiceDelta) -> None:
        """Take in a piece."""
        self.text += piece.text
        if piece.prompt is not None:
            self.shown += piece.prompt.echoed
            self.listed = piece.prompt.listed
        self.shown += [] if piece.shown is None else [piece.shown]
        self.finish = piece.finish or self.finish
        self.reason = piece.reason if piece.finish else self.reason


@dataclass
class Tally:
    """Counts what a completion made, and keeps what was captured."""

    asked: AdmittedRequest
    created: int = field(default_factory=lambda: int(time.time()))
    generated: int = 0
    captured: SourceRun | None = None

    def pieces(self, made: Iterable[CompletionItem]) -> list[ChoiceDelta]:
        """The pieces among what was made."""
        out = []
        for each in made:
            if isinstance(each, SourceRun):
                self.captured = each
            else:
                self.generated += each.generated
                out.append(each)
        return out

    def usage(self) -> Usage:
        """Tokens so far."""
        prompt = sum(len(prompt.tokens) for prompt in self.asked.prompts)
        return Usage(
            prompt_tokens=prompt,
            completion_tokens=self.generated,
            total_tokens=prompt + self.generated,
        )

    def capture_results(self) -> dict[str, CaptureResult] | None:
        """How the capture went; None when nobody asked."""
        run = self.captured
        if run is None:
            missing = CaptureResult(status="not_requested")
            return {"patch_source": missing} if self.asked.capture_wait else None
        payload: dict[str, str | int] = {
            "run": run.run,
            "generation": run.generation,
            "n_tokens": run.n_tokens,
            "bytes": run.bytes,
        }
        return {"patch_source": CaptureResult(status="ok", payload=payload)}

    def last(self, piece: ChoiceDelta) -> bool:
        """Whether a piece ends the last choice."""
        return piece.finish is not None and piece.index == self.choices - 1

    @property
    def choices(self) -> int:
        """How many there will be."""
        return self.asked.n * len(self.asked.prompts)


class Shape(Protocol):
    """One of OpenAI's two shapes."""

    def whole(self, tally: Tally, choices: Sequence[Choice]) -> Wire:
        """The answer in one piece."""
        ...

    def chunks(self, tally: Tally, piece: ChoiceDelta) -> list[Wire]:
        """What a piece adds to a stream; nothing, when there is nothing to show."""
        ...

    def usage(self, tally: Tally) -> Wire:
        """The last chunk, when the count of tokens was asked for."""
        ...


def gathered(tally: Tally, made: Iterable[CompletionItem]) -> list[Choice]:
    """The choices of a completion that has ended."""
    choices = [Choice() for _ in range(tally.choices)]
    for piece in tally.pieces(made):
        choices[piece.index].add(piece)
    return choices
