"""The three studies that come with Sonde, whole and on a few pairs: what packs are pinned to.

What is written: every answer of the whole study, with how long each step took; and the same of so
few pairs that a test can run them. `make figures NAMES=replications` records it, and `--pin` writes
the intervals of the whole study into the packs.

    python -m benchmarks.replications
"""

import argparse
import re
from pathlib import Path
from typing import Any

import sonde
from benchmarks.machine import kept, write
from sonde.replication import PACKS, read_pack, replicate
from sonde.replication.parts import Heard
from sonde.schema.replication import Answer, Pack, Replication

FEW = 18
FOLDER = Path(sonde.__file__).parent / "replication" / "packs"


def main() -> None:
    """Run them, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packs", nargs="*", default=list(PACKS))
    parser.add_argument("--pin", action="store_true", help="write intervals into the packs")
    given = parser.parse_args()
    result = {name: value for name, value in kept("replications").items() if name in PACKS}
    model = sonde.load("smollm2")
    for name in given.packs:
        pack = read_pack(name)
        print(f"{name}, {pack.task.n} pairs", flush=True)
        few = replicate(pack, model, n=FEW)
        whole = replicate(pack, model, heard=Heard(step=say))
        result[name] = told(whole.replication) | {"few": told(few.replication)}
        whole.save(Path("out") / "replications" / name)
        write("replications", result)
        if given.pin:
            pin(pack, whole.replication)


def say(line: str) -> None:
    """Which step begins."""
    print(f"  {line}", flush=True)


def told(found: Replication) -> dict[str, Any]:
    """What is kept of one run."""
    return {
        "weights": found.weights,
        "pairs": found.pairs,
        "held_out": found.held_out,
        "dropped": found.dropped,
        "heads": found.heads,
        "seconds": found.seconds,
        "total_seconds": round(sum(found.seconds.values()), 1),
        "answers": {each.finding.name: numbers(each) for each in found.answers},
    }


def numbers(answer: Answer) -> dict[str, Any]:
    """One answer."""
    fields = {"verdict", "value", "low", "high", "said"}
    return answer.model_dump(include=fields)


def pin(pack: Pack, found: Replication) -> None:
    """Put each answer's interval beside its finding, and whose weights they are."""
    path = FOLDER / f"{pack.name}.toml"
    head, *findings = re.split(r"(?=\n\[\[findings\]\])", path.read_text())
    head = re.sub(r'pinned_weights = ".*"\n', "", head)
    head = head.replace("\n\n[task]", f'\npinned_weights = "{found.weights}"\n\n[task]', 1)
    out = [head]
    for text, answer in zip(findings, found.answers, strict=True):
        assert f'name = "{answer.finding.name}"' in text
        text = re.sub(r"pinned = .*\n", "", text).rstrip("\n")
        if answer.low is not None and answer.high is not None:
            text += f"\npinned = {{ low = {answer.low:.4f}, high = {answer.high:.4f} }}"
        out.append(text + "\n")
    path.write_text("".join(out))


if __name__ == "__main__":
    main()
