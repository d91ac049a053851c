"""A circuit as people use it: made from scores, kept as JSON, drawn, and judged on prompt pairs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.nodes import Graph
from sonde.results import files
from sonde.results.classic import untagged
from sonde.schema import ModelDescription
from sonde.schema.circuit import (
    Circuit as WireCircuit,
)
from sonde.schema.circuit import (
    CircuitEdge,
    CircuitEvaluation,
    CircuitEvent,
    CircuitNode,
    CircuitRequest,
    CircuitRule,
    CircuitShape,
    CircuitSummary,
)

if TYPE_CHECKING:
    from sonde.schema.pair import PromptPair
    from sonde.schema.provenance import Provenance

PathLike = str | os.PathLike[str]
Scored = Sequence[Any]
"""(sender, receiver, score), or (sender, receiver, score, exact); of nodes, (node, score, …)."""
OnCircuit = Callable[[CircuitEvent], None]
SUFFIXES = (".json", ".svg")
_Part = TypeVar("_Part", CircuitEdge, CircuitNode)
MOST_BYTES = 2**31


class Evaluates(Protocol):
    """A model that runs circuits."""

    def describe(self) -> ModelDescription:
        """What is loaded."""
        ...

    def evaluate(
        self, request: CircuitRequest, *, on_event: OnCircuit | None = None
    ) -> CircuitEvaluation:
        """Run a circuit on prompt pairs."""
        ...


@dataclass(frozen=True, repr=False)
class Circuit:
    """A set of edges, or of nodes, with their scores.

    circuit = result.circuit(edges=200)      # of a sweep or attribution of edges
    circuit.save("circuit.json")             # and .svg
    circuit = sonde.Circuit.read("circuit.json")
    found = circuit.evaluate(pairs)          # or evaluate(pairs, model=model) of one from a file
    """

    whole: WireCircuit
    model: Evaluates | None = field(default=None, compare=False)
    """The model that it was found in, where that is in this process."""

    # Ways in.

    @classmethod
    def of(
        cls,
        scores: Iterable[Scored],
        model: ModelDescription | CircuitShape,
        *,
        edges: int | None = None,
        rule: CircuitRule = "absolute",
        made: str = "given",
        provenance: Provenance | None = None,
        runs_in: Evaluates | None = None,
    ) -> Self:
        """The strongest of some edges: (sender, receiver, score) each, or with what is exact."""
        each = [
            CircuitEdge(sender=s, receiver=r, score=score, exact=next(iter(exact), None))
            for s, r, score, *exact in scores
        ]
        ranked = _ranked(each, rule, edges, "edges")
        return cls._made(model, rule, made, provenance, len(each), runs_in, edges=ranked)

    @classmethod
    def of_nodes(
        cls,
        scores: Iterable[Scored],
        model: ModelDescription | CircuitShape,
        *,
        nodes: int | None = None,
        positions: Sequence[str] | None = None,
        rule: CircuitRule = "absolute",
        made: str = "given",
        provenance: Provenance | None = None,
        runs_in: Evaluates | None = None,
    ) -> Self:
        """The strongest of some heads and MLPs: (node, score) each, or with what is exact.

        With `positions`, (node, score, exact, position) each: such a circuit is drawn, not run.
        """
        each = [
            CircuitNode(node=node, score=score, **dict(zip(("exact", "at"), more, strict=False)))
            for node, score, *more in scores
        ]
        ranked = _ranked(each, rule, nodes, "nodes")
        parts = {"nodes": ranked, "positions": None if positions is None else list(positions)}
        return cls._made(model, rule, made, provenance, len(each), runs_in, **parts)

    @classmethod
    def _made(
        cls,
        model: ModelDescription | CircuitShape,
        rule: CircuitRule,
        made: str,
        provenance: Provenance | None,
        scored: int,
        runs_in: Evaluates | None,
        **parts: Any,
    ) -> Self:
        known = model if isinstance(model, ModelDescription) else None
        whole = WireCircuit(
            model="" if known is None else known.name,
            weights="" if known is None else known.weights,
            shape=model if isinstance(model, CircuitShape) else shape_of(model),
            rule=rule,
            scores=made,
            metric=_metric(provenance),
            scored=scored,
            provenance=None if provenance is None else _plain(provenance),
            **parts,
        )
        return cls(whole.model_copy(update={"digest": digest(whole)}), runs_in)

    @classmethod
    def read(cls, path: PathLike) -> Self:
        """A circuit that was saved as JSON."""
        try:
            size = Path(path).stat().st_size
            if size > MOST_BYTES:
                raise BadRequest(f"{os.fspath(path)!r} has {size:,} bytes; no circuit is so large")
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise BadRequest(f"cannot read {os.fspath(path)!r}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise BadRequest(f"{os.fspath(path)!r} is not UTF-8, so no circuit") from error
        return cls.from_json(text, name=os.fspath(path))

    @classmethod
    def from_json(cls, text: str, *, name: str = "the text") -> Self:
        """The same of its text. One that was changed since is refused."""
        try:
            whole = WireCircuit.model_validate_json(text)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "it"
            raise BadRequest(f"{name!r} is no circuit: {where}: {first['msg']}") from error
        if (whole.edges is None) == (whole.nodes is None):
            raise BadRequest(f"{name!r} is no circuit: it needs `edges` or `nodes`, one of the two")
        now = digest(whole)
        if whole.digest and whole.digest != now:
            raise BadRequest(
                f"{name!r} was changed after it was saved: its digest is {whole.digest[:12]}…, and "
                f"its edges give {now[:12]}…; leave `digest` out to use it as it is now"
            )
        return cls(whole.model_copy(update={"digest": now}))

    # What it holds.

    @property
    def edges(self) -> list[CircuitEdge]:
        """Its edges, strongest first; none where it is one of nodes."""
        return list(self.whole.edges or [])

    @property
    def nodes(self) -> list[CircuitNode]:
        """Its nodes, strongest first; none where it is one of edges."""
        return list(self.whole.nodes or [])

    @property
    def kind(self) -> str:
        """What it is a set of."""
        return "nodes" if self.whole.edges is None else "edges"

    @property
    def digest(self) -> str:
        """SHA-256 of everything that decides what is run."""
        return self.whole.digest

    def __len__(self) -> int:
        """How many edges, or nodes."""
        return len(self.edges or self.nodes)

    def __repr__(self) -> str:
        """What it is, in a line."""
        of = self.whole.model or "a model"
        return f"<Circuit: {len(self):,} of {self.whole.scored:,} {self.kind} of {of}>"

    def top(self, k: int) -> Self:
        """The circuit of its k strongest."""
        update: dict[str, Any] = {self.kind: (self.whole.edges or self.whole.nodes or [])[:k]}
        if not 1 <= k <= len(self):
            raise BadRequest(f"a circuit of {k} {self.kind}: this one has 1 to {len(self)}")
        whole = self.whole.model_copy(update=update)
        return replace(self, whole=whole.model_copy(update={"digest": digest(whole)}))

    # What it is worth.

    def evaluate(
        self,
        pairs: Iterable[PromptPair],
        *,
        model: Evaluates | None = None,
        on_event: OnCircuit | None = None,
        **options: Any,
    ) -> CircuitEvaluation:
        """How much of the model it is: faithfulness and completeness of circuits of several sizes.

        `options` are further fields of `CircuitRequest`: `metric`, `sizes`, `rules`, `random`,
        `seed`, `drop_wrong`. `model` is the one that it was found in, unless another is named.
        """
        runs = model or self.model
        if runs is None:
            raise BadRequest("a circuit from a file has no model: evaluate(pairs, model=model)")
        request = self.request(pairs, **options)
        return runs.evaluate(request, on_event=on_event)

    def request(self, pairs: Iterable[PromptPair], **options: Any) -> CircuitRequest:
        """What `evaluate` asks."""
        return CircuitRequest(circuit=self.whole, pairs=list(pairs), **options)

    # Ways out.

    def to_json(self) -> str:
        """Everything, as `from_json` takes it."""
        return self.whole.model_dump_json(exclude_none=True, indent=1) + "\n"

    def to_svg(self, *, most: int = 400, theme: str = "light") -> str:
        """The picture: layers upwards, heads and MLP across; or positions, of nodes at those."""
        from sonde.results.circuit_picture import draw
        from sonde.results.circuit_positions import draw_positions

        dark = theme == "dark"
        if self.whole.positions is not None:
            return draw_positions(self.whole, dark=dark)
        return draw(self.whole, most=most, dark=dark)

    def save(self, path: PathLike) -> Path:
        """Write it as `.json` or `.svg`."""
        suffix = check_suffix(path)
        text = self.to_json() if suffix == ".json" else self.to_svg()
        return files.write(path, text.encode())


def check_suffix(path: PathLike, known: Sequence[str] = SUFFIXES) -> str:
    """What a file's name says that it is."""
    suffix = Path(path).suffix.lower()
    if suffix not in known:
        raise BadRequest(
            f"cannot save to {os.fspath(path)!r}: suffix {suffix!r} is none of {', '.join(known)}"
        )
    return suffix


def shape_of(model: ModelDescription) -> CircuitShape:
    """What edges a model has."""
    graph = Graph.of(model)
    return CircuitShape(
        n_layers=graph.n_layers,
        heads=graph.heads,
        kv_heads=graph.kv_heads,
        parallel=graph.parallel,
    )


def digest(whole: WireCircuit) -> str:
    """SHA-256 of everything that decides what is run."""
    content = {
        "shape": whole.shape.model_dump(),
        "weights": whole.weights,
        "rule": whole.rule,
        "edges": [[e.sender, e.receiver, e.score, e.exact] for e in whole.edges or []],
        "nodes": [[n.node, n.score, n.exact, *([n.at] if n.at else [])] for n in whole.nodes or []],
    }
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def finished(events: Iterable[CircuitEvent], on_event: OnCircuit | None) -> CircuitEvaluation:
    """What the last of some events says."""
    for event in events:
        if on_event is not None:
            on_event(event)
        if isinstance(event, CircuitSummary):
            return untagged(CircuitEvaluation, event)
    raise AssertionError("an evaluation ends with its summary")


def _ranked(each: list[_Part], rule: CircuitRule, most: int | None, what: str) -> list[_Part]:
    if not each:
        raise BadRequest(f"a circuit of no {what}: give it some with their scores")
    if most is not None and not 1 <= most <= len(each):
        raise BadRequest(f"a circuit of {most} {what}: 1 to {len(each)} were scored")
    if rule == "absolute":
        return sorted(each, key=lambda part: -abs(part.score))[:most]
    return sorted(each, key=lambda part: -part.score)[:most]


def _plain(provenance: Provenance) -> Provenance:
    """The wire's own, so that one that is read again equals the one that was saved."""
    from sonde.schema.provenance import Provenance as WireProvenance

    return WireProvenance.model_validate(provenance.model_dump())


def _metric(provenance: Provenance | None) -> Any:
    return None if provenance is None else provenance.request.get("metric")
