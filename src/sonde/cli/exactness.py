"""What multiplies on this machine, and whether bits depend on the rows beside them.

For `sonde doctor`, in one line, and for `sonde doctor --exactness`, product by product. Measured in
a child process: a checkup has to outlive a CPU that ends processes, and the mode that MKL is in
there is what any fresh process would get. The child is this module.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click

from sonde.backends.torch.cpu import instruction_sets
from sonde.cli.installation import Finding
from sonde.results.numbers import count

SECONDS: Final = 300.0
"""How long the child may take: some seconds, unless the machine is very busy."""
ISA: Final = "onednn_verbose,v1,info,cpu,isa:"
"""How oneDNN says what it uses, when it is asked to talk."""
SHOWN: Final = 4
"""Shapes named of those that fail."""


@dataclass(frozen=True)
class Report:
    """What the child found."""

    onednn: str | None
    """The instruction sets that oneDNN uses, in its words; None without oneDNN."""
    cap: str | None
    """What oneDNN is held to, by the environment or because a product would end the process."""
    died_of: str | None
    """The signal that ends low-precision products without a cap."""
    mode: str
    """MKL's mode."""
    why_not: str | None
    """Why that is not its reproducible one."""
    trials: list[dict[str, Any]]
    """Kind, dtype and shape of each product, and whether its bits hold."""

    @property
    def held(self) -> int:
        """How many trials hold."""
        return sum(each["holds"] for each in self.trials)


def report() -> Report | str:
    """What a child finds out; or in words why there is nothing."""
    here = str(Path(__file__).parents[2])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sonde.cli.exactness"], env=environment, capture_output=True,
            text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"products could not be tried: {error}"
    lines = done.stdout.splitlines()
    found = [line for line in lines if line.startswith("{")]
    if done.returncode or not found:
        said = [f"status {done.returncode}", *done.stderr.strip().splitlines()]
        return f"products could not be tried: {said[0] if done.returncode < 0 else said[-1]}"
    isa = [line.removeprefix(ISA) for line in lines if line.startswith(ISA)]
    return Report(onednn=isa[0] if isa else None, **json.loads(found[0]))


def findings() -> Iterator[Finding]:
    """The lines of a checkup: the CPU, what computes on it, and whether bits hold."""
    cpu = instruction_sets.cpu()
    sets = f": {', '.join(cpu.sets)}" if cpu.sets else ""
    yield Finding("cpu", "ok", f"{cpu.name}{sets}")
    if find_spec("torch") is None:
        return
    found = report()
    if isinstance(found, str):
        yield Finding("products", "broken", found, "sonde doctor --exactness")
        return
    yield Finding("products", "ok", computing(found))
    yield _bits(found)


def computing(found: Report) -> str:
    """What computes, in a line."""
    cap = f", capped at {found.cap}" if found.cap else ", no cap"
    died = f" (without one, low-precision products die of {found.died_of})" if found.died_of else ""
    onednn = f"oneDNN with {found.onednn}{cap}{died}" if found.onednn else "no oneDNN"
    return f"{onednn}; MKL's reproducible mode: {found.mode}"


def _bits(found: Report) -> Finding:
    total = len(found.trials)
    if found.held < total:
        said = (
            f"depend on the rows beside them in {count(total - found.held, 'product')} of {total}"
        )
        remedy = found.why_not or "sonde doctor --exactness names them; each sweep says its noise"
        return Finding("bits", "optional", said, remedy)
    said = f"batch-invariant, in all of {count(total, 'product')} tried"
    return Finding("bits", "optional" if found.why_not else "ok", said, found.why_not)


def table(found: Report) -> Iterator[str]:
    """Product by product: how many shapes hold, and some that do not."""
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for each in found.trials:
        kinds[each["dtype"], each["kind"]].append(each)
    for (dtype, kind), tried in kinds.items():
        bad = [each["shape"] for each in tried if not each["holds"]]
        yield f"  {'✗' if bad else '✓'}  {dtype:<9} {kind:<22} {_shapes(len(tried), bad)}"


def _shapes(total: int, bad: Sequence[str]) -> str:
    if not bad:
        return f"batch-invariant, {total} of {count(total, 'shape')}"
    more = f" and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
    return f"bits depend on the rows beside them: {'; '.join(bad[:SHOWN])}{more}"


def show(*, as_json: bool) -> int:
    """Print it all. -> the exit status: 1 where some bits depend on the rows beside them."""
    found = report()
    if isinstance(found, str):
        click.echo(found, err=True)
        return 1
    cpu = instruction_sets.cpu()
    if as_json:
        click.echo(json.dumps({"cpu": asdict(cpu), **asdict(found)}, indent=1))
    else:
        click.echo(f"{cpu.name}: {', '.join(cpu.sets) or 'instruction sets unknown'}")
        click.echo(computing(found))
        for line in table(found):
            click.echo(line)
        if found.why_not:
            click.echo(f"→ {found.why_not}")
    return 0 if found.held == len(found.trials) else 1


def main() -> None:
    """What the child does: try, and print one line of JSON."""
    from sonde.backends.torch.cpu import invariance, products, reproducible
    from sonde.errors import EngineError

    mode = reproducible.settle()
    tried = instruction_sets.tried()
    dtypes = list(invariance.DTYPES)
    try:
        instruction_sets.make_safe(low=True)
    except EngineError:
        del dtypes[1:]  # the others would end this process
    if products.available():
        _say_isa()
    trials = [asdict(each) for each in invariance.trials(dtypes)]
    print(
        json.dumps(
            {
                "cap": os.environ.get(instruction_sets.VARIABLE),
                "died_of": tried.died_of,
                "mode": mode.name,
                "why_not": mode.why_not,
                "trials": trials,
            }
        )
    )


def _say_isa() -> None:
    """Let oneDNN say what it uses: it does so once, on standard output."""
    import torch

    from sonde.backends.torch.cpu.products import LaidOut

    with torch.inference_mode(), torch.backends.mkldnn.verbose(1):  # type: ignore[no-untyped-call]
        LaidOut(torch.ones(16, 16))(torch.ones(4, 16))


if __name__ == "__main__":
    main()
