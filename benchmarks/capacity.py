"""What a study takes on models too large to measure here: capture memory, tokens, GPU-seconds.

Arithmetic, not measurement. Every number follows from a model's shape, a prompt's length and two
assumptions that are arguments here: a GPU's peak rate, and the share of it that prefill reaches.
`docs/scale.md` shows what `tables` returns, and a test keeps the two the same.

    python -m benchmarks.capacity
"""

from dataclasses import dataclass

STREAM_HOOKS, BRANCH_HOOKS = 3, 2
"""`pre_attn`, `post_attn` and `post_block` are kept in float32, so that a run patched with itself
changes no bit; `mlp_in` and `mlp_out` in the model's own precision."""

ITEM = 2
"""Bytes of a bfloat16 number."""

PEAK = 989e12
"""Floating-point operations a second of one H100 or H200, dense bfloat16."""

EFFICIENCY = 0.4
"""The share of it that prefill of long batches reaches: an assumption, to be replaced."""

GPU_BYTES = 80e9
WEIGHTS_SHARE = 0.7
"""Of a GPU's memory; the rest is for keys and values and for the work itself."""

BLOCK = 16
"""Tokens that the prefix cache shares at a time on a GPU."""


@dataclass(frozen=True)
class Shape:
    """A model, as far as these numbers depend on it."""

    name: str
    parameters: float
    layers: int
    width: int


SHAPES = (
    Shape("8B", 8.03e9, 32, 4096),
    Shape("70B", 70.6e9, 80, 8192),
    Shape("405B", 405.9e9, 126, 16384),
)
"""Shapes of the Llama 3.1 family."""


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
    shape: Shape, tokens: int, *, peak: float = PEAK, efficiency: float = EFFICIENCY
) -> float:
    """Seconds of one GPU: two operations a parameter and token, attention left out."""
    return 2 * shape.parameters * tokens / (peak * efficiency)


def gpus(shape: Shape, *, memory: float = GPU_BYTES) -> int:
    """The smallest power of two of GPUs that holds the weights and leaves room to work."""
    count = 1
    while count * memory * WEIGHTS_SHARE < ITEM * shape.parameters:
        count *= 2
    return count


def tables(study: Study | None = None) -> str:
    """The tables of `docs/scale.md`."""
    study = study or Study()
    return "\n".join([*_memory(study), "", *_work(study)])


def _memory(study: Study) -> list[str]:
    lines = [
        "| model | layers × width | weights | GPUs of 80 GB | kept per token "
        f"| a {study.tokens}-token prompt | the same on all tensor-parallel ranks |",
        "|---|---|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        count = gpus(shape)
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
            f"| {each / gpus(shape):,.1f} | {study.pairs * each / 3600:,.2f} |"
        )
    return lines


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


if __name__ == "__main__":
    print(tables())
