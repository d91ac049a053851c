"""Many ranks' replies as one answer.

A run exists if any rank holds a part of it, and is gone when all have dropped theirs. What a
request did is the sum over the stages of the pipeline, and must be the same for every share of the
tensors: a share that missed a write would compute with other activations than its neighbours. What
is written to a head is written by the shares that hold it, and the others say so.
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
    """Numbers of the spots that were written, on every share that holds what is written to."""
    captured: int
    """Sites that were kept, on the share that kept fewest."""
    missing: tuple[str, ...]
    """Keys of source runs that some rank did not have."""


def united_outcome(replies: Sequence[Mapping[str, Any]], uid: str) -> Outcome:
    """One request's reports as one."""
    written: dict[int, set[int]] = defaultdict(set)
    elsewhere: dict[int, set[int]] = defaultdict(set)
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
        elsewhere[reply["share"]] |= set(report["elsewhere"])
        captured[reply["share"]] += report["captured"]
        missing |= set(report["missing"])
    common = frozenset[int]().union(*written.values())
    for share, mine in written.items():
        common &= mine | elsewhere[share]
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


def first_found(replies: Sequence[Sequence[bytes | None]]) -> list[bytes | None]:
    """Of each thing that was asked for, what the rank that has it replied."""
    return [
        next((part for part in parts if part is not None), None)
        for parts in zip(*replies, strict=True)
    ]


def stages_of(replies: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """The stage of the pipeline that holds each layer, in the order of the layers."""
    held = {layer: reply["stage"] for reply in replies for layer in reply["layers"]}
    return tuple(held[layer] for layer in sorted(held))


def all_weights(replies: Sequence[Mapping[str, Any]]) -> list[str]:
    """The fingerprints of all ranks, in the order of stage and share."""
    ordered = sorted(replies, key=lambda reply: (reply["stage"], reply["share"]))
    return [reply["weights"] for reply in ordered]
