"""Many ranks' replies as one answer.

A run exists if any rank holds a part of it, and is gone when all have dropped theirs. What a
request did is the sum over the stages of the pipeline, and must be the same for every share of the
tensors: a share that missed a write would compute with other activations than its neighbours.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonde.errors import EngineError


@dataclass(frozen=True)
class Outcome:
    """What came of one request, over all ranks."""

    written: frozenset[int]
    """Patches that were written, on every share of the tensors."""
    captured: int
    """Sites that were kept, on the share that kept fewest."""
    missing: tuple[str, ...]
    """Keys of source runs that some rank did not have."""


def united_outcome(replies: Sequence[Mapping[str, Any]], uid: str) -> Outcome:
    """One request's reports as one."""
    written: dict[int, set[int]] = defaultdict(set)
    captured: dict[int, int] = defaultdict(int)
    missing: set[str] = set()
    for reply in replies:
        report = reply["requests"].get(uid)
        if report is None:
            raise EngineError(
                f"stage {reply['stage']}, share {reply['share']} of the vLLM engine never saw a "
                "request that has ended; its result cannot be trusted"
            )
        written[reply["share"]] |= set(report["written"])
        captured[reply["share"]] += report["captured"]
        missing |= set(report["missing"])
    common = frozenset[int]().union(*written.values()).intersection(*written.values())
    return Outcome(common, min(captured.values(), default=0), tuple(sorted(missing)))


def united_manifests(replies: Sequence[Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Every key that any rank holds, with all that the ranks hold of it together."""
    out: dict[str, Any] = {}
    for reply in replies:
        for key, part in reply.items():
            whole = out.setdefault(
                key, {"hooks": [], "layers": [], "positions": [], "bytes": 0, "leased": False}
            )
            for name in ("hooks", "layers", "positions"):
                whole[name] = list(dict.fromkeys([*whole[name], *part[name]]))
            whole["bytes"] += part["bytes"]
            whole["leased"] = whole["leased"] or part["leased"]
    return out


def first_found(replies: Sequence[bytes | None]) -> bytes | None:
    """What the rank that has it replied."""
    return next((reply for reply in replies if reply is not None), None)


def all_weights(replies: Sequence[Mapping[str, Any]]) -> list[str]:
    """The fingerprints of all ranks, in the order of stage and share."""
    ordered = sorted(replies, key=lambda reply: (reply["stage"], reply["share"]))
    return [reply["weights"] for reply in ordered]
