"""The figures in the README, made from `benchmarks/results` so that nobody copies a number by hand.

    make figures

records what was measured here (see `machine`) as those results, and writes the figures again. With
names, only those: `make figures NAMES="sweep_rate roofline"`. Without any measurement it only
writes. A test compares figures and results.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
RESULTS: Final = Path(__file__).parent / "results"
LOCAL: Final = ROOT / "out" / "benchmarks"
UPDATE: Final = "the README's figures are old: run `make figures`"
BEGIN: Final = "<!-- figures: written by `python -m benchmarks.figures`, do not edit -->\n"
END: Final = "<!-- end of figures -->\n"

PEERS: Final = {
    "hook_loop": "a plain Hugging Face hook loop",
    "nnsight": "nnsight 0.8, one trace per cell",
    "transformer_lens": "TransformerLens 4.3, its own patching function",
}


def section() -> str:
    """What belongs between the marks."""
    return "\n".join([*_sweep(), "", *_list()]) + "\n"


def shown(text: str) -> str:
    """What is between the marks of a document."""
    return text.partition(BEGIN)[2].partition(END)[0]


def _sweep() -> Iterator[str]:
    found = _result("sweep_rate")
    seconds = found["seconds"]
    yield (
        "| one sweep of SmolLM2, 270 cells, float32, two CPU cores | seconds | Sonde is "
        "| the same loop, as lean as can be |"
    )
    yield "|---|---|---|---|"
    own = _three(seconds["sonde"])
    yield f"| Sonde, both prompts, controls and noise floor included | {own} | | |"
    for name, what in PEERS.items():
        faster, than_lean = (
            f"{found['times_faster_than'][form]:.0f} times faster"
            for form in (name, f"{name}_leanest")
        )
        lean = _three(seconds[f"{name}_leanest"])
        yield f"| {what} | {_three(seconds[name])} | {faster} | {lean} s, {than_lean} |"


def _list() -> Iterator[str]:
    sweep = _result("sweep_rate")
    apart = max(sweep["largest_difference_from"].values())
    yield f"- The numbers agree with all of them within {_up(apart)} in log-probability."
    gpu = _result("gpu_sweep")
    run = next(run for run in gpu["runs"] if run["compiled"])
    long = next(each for each in run["lengths"] if each["tokens"] == 64)
    times = [each["times_faster"]["hook_loop"] for each in (long, *gpu["other_runs"])]
    yield (
        f"- One H200, bfloat16, an 8B-shaped model: {long['cells']:,} cells in "
        f"{_three(long['sweep_s'])} s with compiled layers, {long['share_of_gemm']:.0%} of what "
        f"bare matrix products reach; a hook loop takes {min(times):.0f} to {max(times):.0f} times "
        f"as long ({len(times)} runs; its time is the host's, and varies)."
    )
    served = _result("server_overhead")["over_in_process"]
    yield f"- Over HTTP: {served['sse']:.2f} times the same sweep in process."
    lag = next(
        each
        for each in _result("stream")["latency"]
        if (each["server"], each["listeners"], each["records_per_second"]) == ("sonde", 1, 1000)
    )
    yield (
        f"- Live: a record reaches a listener {lag['p50_ms']:.1f} ms after it was written (median; "
        f"99 % within {lag['p99_ms']:.1f} ms)."
    )
    beside = _result("sidecar_overhead")
    cuda = beside["cuda"].get("cuda", beside["cuda"])
    yield (
        f"- Recording: {beside['cpu']['overhead']:.1%} of a training step's CPU time on the CPU; "
        f"{cuda['overhead']:.1%} of a scoring pass of an 8B-shaped policy on one H200, two layers "
        "of 65,536 features."
    )


def _result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def _three(value: float) -> str:
    """Three significant digits."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _up(value: float) -> str:
    """One digit, rounded up: what a number is within."""
    exponent = f"{value:e}".partition("e")[2]
    digit = -(-value // 10 ** int(exponent))
    return f"{digit:.0f}e{int(exponent)}"


def record(names: Sequence[str] = (), *, local: Path = LOCAL, results: Path = RESULTS) -> list[str]:
    """Take what was measured here for recorded, all of it or by name. -> the names."""
    found = sorted(path.stem for path in local.glob("*.json"))
    missing = [name for name in names if name not in found]
    if missing:
        raise SystemExit(f"{missing[0]} was not measured here; in {local}: {found or 'nothing'}")
    for name in names or found:
        shutil.copyfile(local / f"{name}.json", results / f"{name}.json")
    return list(names or found)


if __name__ == "__main__":
    print(f"recorded: {', '.join(record(sys.argv[1:])) or 'nothing new'}")
    old = README.read_text()
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    README.write_text(pattern.sub(lambda _: BEGIN + section() + END, old))
