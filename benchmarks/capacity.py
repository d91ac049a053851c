"""What a study takes on models too large to measure here: capture memory, tokens, GPU-seconds.

Arithmetic, not measurement. Every number follows from a model's shape, a prompt's length and
`sonde.scale`: a GPU's peak rate, and the share of it that is reached. `docs/scale.md` shows what
`tables` and `head_study` return, and a test keeps them the same.

    python -m benchmarks.capacity
"""

from dataclasses import dataclass

from sonde import scale
from sonde.results.numbers import duration
from sonde.scale import BLOCK, ITEM, PREFILL_SHARE, Rows, Shape, devices_for, fleet

STREAM_HOOKS, BRANCH_HOOKS = 3, 2
"""`pre_attn`, `post_attn` and `post_block` are kept in float32, so that a run patched with itself
changes no bit; `mlp_in` and `mlp_out` in the model's own precision."""

SHAPES = (
    Shape("8B", 8.03e9, 32, 4096, 32, 8.03e9),
    Shape("70B", 70.6e9, 80, 8192, 64, 70.6e9),
    Shape("405B", 405.9e9, 126, 16384, 128, 405.9e9),
)
"""Shapes of the Llama 3.1 family."""

H100 = fleet("H100").device


@dataclass(frozen=True)
class Study:
    """So many prompt pairs, each swept over all layers and positions at some hooks."""

    pairs: int = 100
    tokens: int = 32
    hooks: int = 1
    hours: float = 1.0


def capture_bytes(shape: Shape, tokens: int, *, shares: int = 1) -> int:
    """What a sweep keeps of one clean prompt: five hooks, all layers, on all ranks together.

    Tensor-parallel ranks (`shares`) hold copies; the stages of a pipeline hold their own layers.
    """
    per_site = STREAM_HOOKS * 4 + BRANCH_HOOKS * ITEM
    return tokens * shape.layers * shape.width * per_site * shares


def sweep_tokens(shape: Shape, tokens: int, hooks: int = 1, block: int = BLOCK) -> int:
    """Tokens computed for one sweep: every cell from the block of its position to the end."""
    computed = sum(tokens - position // block * block for position in range(tokens))
    return hooks * shape.layers * computed


def gpu_seconds(
    shape: Shape, tokens: int, *, peak: float = H100.peak, efficiency: float = PREFILL_SHARE
) -> float:
    """Seconds of one GPU: two operations a parameter and token, attention left out."""
    return 2 * shape.parameters * tokens / (peak * efficiency)


def tables(study: Study | None = None) -> str:
    """The tables of `docs/scale.md`."""
    study = study or Study()
    return "\n".join([*_memory(study), "", *_work(study)])


PAIRS, SUFFIX = 200, 8
FLEETS = ("1xH100", "8xH100", "64xH100")


def head_study() -> str:
    """`z` of every head over 200 pairs, 8 tokens a row, as one study."""
    lines = [
        "| model | cells | " + " | ".join(f"on {fleet(each)}" for each in FLEETS) + " |",
        "|---|---" + "|---" * len(FLEETS) + "|",
    ]
    for shape in scale.SHAPES:
        rows = Rows(PAIRS * shape.layers * shape.heads, SUFFIX)
        costs = [scale.cost(shape, rows, fleet(each)) for each in FLEETS]
        said = [
            each.way if each.seconds is None else f"{duration(each.seconds)}, {each.way}"
            for each in costs
        ]
        lines.append(f"| {shape.name} | {rows.count:,} | {' | '.join(said)} |")
    return "\n".join(lines)


def _memory(study: Study) -> list[str]:
    lines = [
        "| model | layers × width | weights | GPUs of 80 GB | kept per token "
        f"| a {study.tokens}-token prompt | the same on all tensor-parallel ranks |",
        "|---|---|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        count = devices_for(shape, H100.memory)
        shares = min(count, 8)
        lines.append(
            f"| {shape.name} | {shape.layers} × {shape.width:,} "
            f"| {ITEM * shape.parameters / 1e9:.0f} GB | {count} "
            f"| {_size(capture_bytes(shape, 1))} | {_size(capture_bytes(shape, study.tokens))} "
            f"| {_size(capture_bytes(shape, study.tokens, shares=shares))} ({shares}) |"
        )
    return lines


def _work(study: Study) -> list[str]:
    lines = [
        f"| model | cells a sweep | tokens a sweep | tokens a second for {study.pairs} pairs in "
        f"{study.hours:g} h | GPU-seconds a sweep | seconds a sweep on those GPUs "
        f"| GPU-hours for {study.pairs} pairs |",
        "|---|---|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        tokens = sweep_tokens(shape, study.tokens, study.hooks)
        each = gpu_seconds(shape, tokens)
        lines.append(
            f"| {shape.name} | {study.hooks * shape.layers * study.tokens:,} | {tokens:,} "
            f"| {study.pairs * tokens / study.hours / 3600:,.0f} | {each:,.1f} "
            f"| {each / devices_for(shape, H100.memory):,.1f} | {study.pairs * each / 3600:,.2f} |"
        )
    return lines


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


if __name__ == "__main__":
    print(tables(), "", head_study(), sep="\n")
