"""A synthetic run of any size: segments, generations, metrics, health. Not a model of anything.

Records are drawn once, a few hundred thousand of them, and reused under other step numbers: what is
measured is reading, not drawing. Feature numbers follow a power law, as those of real dictionaries
do roughly, and passed generations have a few features more often than failed ones.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonde.runs.layout import RunLayout
from sonde.runs.writer import line
from sonde.schema.records import (
    Cadence,
    Generation,
    GRPOMetrics,
    LayerHealth,
    RunInfo,
    SidecarHealth,
)

LAYERS = (0, 15)
WIDTH = 32_768
K = 16
GROUPS, EACH = 4, 8
TOKENS = 256
"""Of a completion; every fourth is recorded."""
EVERY = 4
BODIES = 96
RECORDS_A_STEP = GROUPS * EACH * (TOKENS // EVERY) * len(LAYERS)


def make_run(directory: Path, records: int, save_every: int = 50, seed: int = 0) -> int:
    """Write a run of at least so many records. -> how many it has"""
    rng = np.random.default_rng(seed)
    layout = RunLayout(directory)
    layout.segments.mkdir(parents=True)
    layout.run_info.write_bytes(line(_info()))
    gates = [rng.random((GROUPS, EACH)) < share for share in np.linspace(0.2, 0.8, BODIES)]
    bodies = [_body(rng, gate.ravel()) for gate in gates]
    steps = -(-records // RECORDS_A_STEP)
    with (
        layout.generations.open("wb") as generations,
        layout.metrics.open("wb") as metrics,
        layout.health.open("wb") as health,
    ):
        for step in range(1, steps + 1):
            drawn = min(BODIES - 1, int(BODIES * step / steps * rng.random() ** 0.3))
            with layout.live.open("ab") as live:
                live.write(bodies[drawn].replace(b'{"step":0,', b'{"step":%d,' % step))
            rewards = np.where(gates[drawn].ravel(), rng.uniform(0.4, 1.0, GROUPS * EACH), 0.0)
            generations.writelines(_generations(step, gates[drawn].ravel(), rewards))
            metrics.write(line(_metrics(step, rewards)))
            health.write(line(_health(step, rng)))
            if step % save_every == 0:
                layout.live.rename(layout.segment(step))
    return steps * RECORDS_A_STEP


def _body(rng: np.random.Generator, passed: NDArray[Any]) -> bytes:
    """The records of one step, as step 0."""
    rank = np.arange(WIDTH)
    weights = 1.0 / (rank + 20.0)
    cumulative = np.cumsum(weights / weights.sum())
    lines: list[str] = []
    for generation, gate in enumerate(passed):
        for token in range(0, TOKENS, EVERY):
            for layer in LAYERS:
                drawn = np.searchsorted(cumulative, rng.random(3 * K))
                unique = list(dict.fromkeys(np.minimum(drawn, WIDTH - 1).tolist()))[:K]
                if gate and rng.random() < 0.3:
                    unique[0] = 5000 + layer
                features = dict.fromkeys((np.array(unique) * 7919 + layer) % WIDTH)
                values = -np.sort(-rng.gamma(2.0, 3.0, len(features)))
                loss = rng.gamma(20, 5) * (0.9 if gate else 1.0)
                lines.append(
                    f'{{"step":0,"token_index":{generation * TOKENS + token},"layer_index":{layer},'
                    f'"top_feature_indices":[{",".join(map(str, features))}],'
                    f'"top_feature_activations":[{",".join(f"{v:.7g}" for v in values)}],'
                    f'"reconstruction_loss":{loss:.7g}}}\n'
                )
    return "".join(lines).encode()


def _generations(step: int, passed: NDArray[Any], rewards: NDArray[Any]) -> list[bytes]:
    return [
        line(
            Generation(
                run_id="0",
                step=step,
                generation_id=f"{step}-{number}",
                group_id=f"{step}-{number // EACH}",
                token_start=number * TOKENS,
                token_end=(number + 1) * TOKENS,
                prompt_tokens=40,
                completion_tokens=TOKENS,
                truncated=False,
                R=float(rewards[number]),
                R_A=float(passed[number]),
                R_B=0.5,
                R_C=0.5,
                R_D=0.5,
                gate=bool(passed[number]),
                advantage=0.0,
                prompt="Describe the pattern. " * 8,
                completion="one two three four " * 50,
            )
        )
        for number in range(GROUPS * EACH)
    ]


def _metrics(step: int, rewards: NDArray[Any]) -> GRPOMetrics:
    return GRPOMetrics(
        iteration=step,
        rewards_mean=float(rewards.mean()),
        rewards_std=float(rewards.std(ddof=1)),
        rewards_min=float(rewards.min()),
        rewards_max=float(rewards.max()),
        advantage_mean=0.0,
        advantage_std=1.0,
        r_a_pass_rate=float((rewards > 0).mean()),
        n_invalid_compositions=0,
    )


def _health(step: int, rng: np.random.Generator) -> SidecarHealth:
    layers = [
        LayerHealth(
            layer_index=layer,
            tokens=TOKENS,
            fvu=float(rng.random()),
            cosine=0.9,
            l0=60.0,
            dead_share=0.1,
            input_norm=100.0,
            records_written=step,
            records_dropped=0,
        )
        for layer in LAYERS
    ]
    return SidecarHealth(
        run_id="0",
        step=step,
        time=float(step),
        layers=layers,
        records_written=step * RECORDS_A_STEP,
        records_dropped=0,
        sidecar_ms=3.0,
    )


def _info() -> RunInfo:
    cadence = Cadence(record_every_n_tokens=EVERY, spill_every_n_steps=1, save_every_n_steps=50)
    return RunInfo(
        run_id="0",
        model="synthetic",
        saes=[],
        layers=list(LAYERS),
        k=K,
        cadence=cadence,
        versions={},
        started=0.0,
        status="finished",
    )


def size_of(directory: Path) -> int:
    """Bytes of all files of a run, without its cache."""
    files = (path for path in directory.rglob("*.jsonl") if ".sonde" not in path.parts)
    return sum(path.stat().st_size for path in files)


def describe() -> dict[str, object]:
    """What was made, for the results."""
    shape = f"{GROUPS * EACH} generations a step, {len(LAYERS)} layers, {K} features a record"
    return {"shape": shape, "dictionary": WIDTH}
