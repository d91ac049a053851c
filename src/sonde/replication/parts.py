"""Everything that a pack's findings are measured on: the sweeps of an ordinary study, in order.

1. **Pairs**       made and checked; those of held-out templates are set apart.
2. **Residual**    patched at every layer and role.
3. **Heads**       each by itself, at all positions together.
4. **Direct**      what each head writes to the logits, no other part reading it.
5. **Components**  attention and MLP layers at single roles, where the pack asks for it.
6. **Together**    the strongest heads, one by one and at once, on held-out templates.
7. **Nodes**       scored by one gradient, the strongest run to verify; a circuit of them.
8. **Circuit**     run at several sizes, on the held-out templates.

Nothing is measured here, and nothing is decided but which heads are the strongest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sonde.errors import BadRequest
from sonde.nodes import Node, node_of
from sonde.results import Circuit, PairSweep
from sonde.results.numbers import count
from sonde.schema.circuit import CircuitEvaluation
from sonde.schema.replication import Pack
from sonde.tasks import Pairs, task

if TYPE_CHECKING:
    from sonde.model import Model, OnEvent
    from sonde.results.circuit import OnCircuit

STRONGEST: Final = 3
"""Heads that are patched at once."""
SCORED: Final = 20
"""Pairs over which nodes are scored."""
JUDGED: Final = 20
"""Held-out pairs on which circuits are run."""
SIZES: Final = (0.03, 0.1, 0.18, 0.4, 1.0)
"""Shares of its nodes that a circuit is run at."""
LEAST: Final = 2
"""Fewer pairs on either side say nothing."""

Step = Callable[[str], None]
"""Hears what is done next."""


@dataclass(frozen=True)
class Heard:
    """Who is told how far it is; nobody, if nothing is said."""

    step: Step = lambda _doing: None
    event: OnEvent | None = None
    circuit: OnCircuit | None = None


@dataclass(frozen=True)
class Parts:
    """What came of each step."""

    pack: Pack
    model: Model
    asked: Pairs
    """All that were made; its verdicts say what the model made of each."""
    fit: Pairs
    held_out: Pairs
    residual: PairSweep
    heads: PairSweep
    direct: PairSweep
    components: PairSweep | None
    strongest: list[str]
    """`z:26.0`, by what patching each brings back on the pairs they are chosen on."""
    together: PairSweep
    circuit: Circuit
    curve: CircuitEvaluation
    seconds: dict[str, float]

    @property
    def sweeps(self) -> dict[str, PairSweep]:
        """The tables, by the name of their step."""
        found = {"residual": self.residual, "heads": self.heads, "direct": self.direct}
        if self.components is not None:
            found["components"] = self.components
        return {**found, "together": self.together}


def run(pack: Pack, model: Model, n: int | None = None, heard: Heard | None = None) -> Parts:
    """Run all of it, on `n` pairs instead of the pack's number."""
    heard = heard or Heard()
    clock = _Clock(heard.step)
    clock.begin("pairs")
    made = task(pack.task.name).pairs(n or pack.task.n, pack.task.seed)
    asked = made.check(model)
    fit, held_out = split(asked, pack)
    sweep: dict[str, Any] = {"metric": "recovered", "on_event": heard.event}
    clock.begin("residual", f"{count(len(fit), 'pair')}, {len(held_out)} held out")
    residual = model.sweep(pairs=fit, hooks=["post_block"], positions=pack.columns, **sweep)
    clock.begin("heads", f"hooks {', '.join(pack.hooks)}")
    heads = model.sweep(pairs=fit, hooks=pack.hooks, positions="together", **sweep)
    clock.begin("direct", "what each head writes to the logits")
    direct = model.sweep(
        pairs=fit, senders=["z"], receivers=["logits"], metric="logit_diff", on_event=heard.event
    )
    components = None
    if pack.components is not None:
        asked_for = pack.components
        clock.begin("components", f"{', '.join(asked_for.hooks)}, {asked_for.window} layers each")
        components = model.sweep(
            pairs=fit, hooks=asked_for.hooks, positions=asked_for.columns,
            layers=f"windows:{asked_for.window}", **sweep,
        )  # fmt: skip
    strongest = strongest_heads(heads)
    clock.begin("together", f"{', '.join(strongest)} on held-out templates")
    together = model.sweep(
        pairs=held_out, senders=[*strongest, "+".join(strongest)], receivers=["total"], **sweep
    )
    clock.begin("nodes", f"scored over {min(len(fit), SCORED)} pairs, the strongest run")
    scored = model.attribute(
        pairs=fit[:SCORED], method="eap-ig", verify=40, sample=20, on_event=heard.event
    )
    circuit = scored.circuit(model=model)
    clock.begin("circuit", f"at {count(len(SIZES), 'size')}, on held-out templates")
    sizes = sizes_of(circuit, pack)
    curve = ranked(circuit, model, pack).evaluate(
        held_out[:JUDGED], sizes=sizes, rules=["absolute"], on_event=heard.circuit
    )
    return Parts(
        pack, model, asked, fit, held_out, residual, heads, direct, components, strongest,
        together, circuit, curve, clock.end(),
    )  # fmt: skip


def split(pairs: Pairs, pack: Pack) -> tuple[Pairs, Pairs]:
    """Those that things are chosen on, and those of the held-out templates."""
    held = [any((p.cluster or "").startswith(each) for each in pack.held_out) for p in pairs]
    sides = []
    for wanted, what in ((False, "other"), (True, "held-out")):
        some = tuple(p for p, is_held in zip(pairs, held, strict=True) if is_held == wanted)
        if len(some) < LEAST:
            raise BadRequest(
                f"{count(len(some), 'pair')} of {what} templates that the model gets right; "
                f"{LEAST} are the least: ask for more --pairs"
            )
        sides.append(Pairs(some, pairs.name, seed=pairs.seed, licence=pairs.licence))
    return sides[0], sides[1]


def ranked(circuit: Circuit, model: Model, pack: Pack) -> Circuit:
    """The nodes as circuits take them in; where only heads may be left out, all MLPs first."""
    if pack.circuit == "nodes":
        return circuit
    most = max(abs(node.score) for node in circuit.nodes)
    scores = [(n.node, n.score if _is_head(n.node) else 2 * most) for n in circuit.nodes]
    return Circuit.of_nodes(scores, model.describe(), runs_in=model)


def always_in(circuit: Circuit, pack: Pack) -> int:
    """Nodes that no size leaves out."""
    if pack.circuit == "nodes":
        return 0
    return sum(not _is_head(each.node) for each in circuit.nodes)


def _is_head(name: str) -> bool:
    return node_of(name).head is not None


def sizes_of(circuit: Circuit, pack: Pack) -> list[int]:
    """How many nodes circuits have: shares of those that may be left out."""
    base = always_in(circuit, pack)
    rest = len(circuit) - base
    return sorted({base + max(1, round(share * rest)) for share in SIZES})


def strongest_heads(heads: PairSweep, k: int = STRONGEST) -> list[str]:
    """Which bring back most, by name."""
    mean = heads.mean["z"]
    order = np.argsort(-np.nan_to_num(mean, nan=-np.inf), axis=None, kind="stable")[:k]
    layers = heads.axes["z"]["layer"]
    places = (np.unravel_index(int(each), mean.shape) for each in order)
    return [Node("z", int(layers[int(layer)]), int(head)).name for layer, head in places]


class _Clock:
    """Says what begins, and keeps how long each step took."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._seconds: dict[str, float] = {}
        self._name, self._began = "", 0.0

    def begin(self, name: str, told: str = "") -> None:
        self.end()
        self._name, self._began = name, time.perf_counter()
        self._step(f"{name}: {told}" if told else name)

    def end(self) -> dict[str, float]:
        if self._name:
            self._seconds[self._name] = round(time.perf_counter() - self._began, 2)
            self._name = ""
        return self._seconds
