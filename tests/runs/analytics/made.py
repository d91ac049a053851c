"""Small runs with known numbers, written as a trainer writes them, and as the reference does."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sonde.runs import rotation
from sonde.runs.layout import RunLayout
from sonde.runs.spool import Chunk
from sonde.runs.writer import RunWriter
from sonde.schema.records import (
    Cadence,
    Generation,
    GRPOMetrics,
    LayerHealth,
    RunInfo,
    SidecarHealth,
)

Record = dict[str, Any]

LAYERS = (0, 15)
WIDTH = 40
K = 4
RUN_ID = "6f1c2f9e-7d0a-4c39-9a52-0d9f1c1b2a33"


@dataclass
class Made:
    """What was written, as plain values: the truth that answers are compared with."""

    layout: RunLayout
    records: list[Record] = field(default_factory=list)
    generations: list[dict[str, Any]] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    health: list[dict[str, Any]] = field(default_factory=list)


def made_run(
    directory: Path,
    *,
    steps: int = 12,
    prompts: int = 2,
    each: int = 4,
    save_every: int = 5,
    seed: int = 0,
) -> Made:
    """A run of Sonde's: segments, a live file and all companions.

    Passed generations have feature 7 of layer 15 more often, and lower losses.
    """
    rng = np.random.default_rng(seed)
    made = Made(RunLayout(directory))
    with RunWriter.begin(made.layout) as writer:
        writer.describe(run_info())
        for step in range(1, steps + 1):
            lines, generations = _step(made, rng, step, prompts, each)
            metrics = _metrics(step, generations)
            made.metrics.append(metrics.model_dump())
            writer.add(records=[lines], generations=generations, metrics=metrics)
            writer.spill()
            health = _health(rng, step)
            made.health.append(health.model_dump(by_alias=True))
            writer.report(health)
            if step % save_every == 0:
                made.layout.checkpoint(step).mkdir()
                writer.sync()
                writer.records.file.close()
                rotation.rotate(made.layout, step)
    return made


def reference_run(directory: Path, *, records: int = 300, every: int = 1, seed: int = 1) -> Made:
    """A run as the reference writes it: one file, six keys, step 0 throughout, no companions."""
    rng = np.random.default_rng(seed)
    made = Made(RunLayout(directory))
    directory.mkdir(parents=True, exist_ok=True)
    for token in range(records):
        made.records.append(record(rng, 0, token * every, 0))
    text = "".join(json.dumps(each) + "\n" for each in made.records)
    made.layout.live.write_text(text)
    return made


def record(
    rng: np.random.Generator, step: int, token: int, layer: int, *, lucky: bool = False
) -> Record:
    """One record with a few features, sometimes none, sometimes without a number."""
    count = int(rng.integers(0, K + 1))
    features = rng.choice(WIDTH, size=count, replace=False).tolist()
    if lucky and layer == 15 and 7 not in features:
        features = [7, *features][:K]
    activations: list[float | None] = sorted(
        rng.gamma(2.0, 3.0, len(features)).round(4).tolist(), reverse=True
    )
    if activations and rng.random() < 0.03:
        activations[-1] = None
    loss = (
        None if rng.random() < 0.05 else round(float(rng.gamma(5, 20)) * (0.7 if lucky else 1), 4)
    )
    return {
        "step": step,
        "token_index": token,
        "layer_index": layer,
        "top_feature_indices": features,
        "top_feature_activations": activations,
        "reconstruction_loss": loss,
    }


def run_info() -> RunInfo:
    """What the run is."""
    return RunInfo(
        run_id=RUN_ID,
        model="tiny",
        saes=[],
        layers=list(LAYERS),
        k=K,
        cadence=Cadence(record_every_n_tokens=1, spill_every_n_steps=1, save_every_n_steps=5),
        versions={},
        started=1e9,
        status="finished",
    )


def _step(
    made: Made, rng: np.random.Generator, step: int, prompts: int, each: int
) -> tuple[Chunk, list[Generation]]:
    token, generations, lines = 0, [], []
    for number in range(prompts * each):
        length = int(rng.integers(2, 9))
        passed = bool(rng.random() < 0.35 + 0.03 * step)
        reward = round(float(rng.uniform(0.3, 1.0)), 4) if passed else 0.0
        generations.append(
            Generation(
                run_id=RUN_ID,
                step=step,
                generation_id=f"{step}-{number}",
                group_id=f"{step}-{number // each}",
                token_start=token,
                token_end=token + length,
                prompt_tokens=5,
                completion_tokens=length,
                truncated=False,
                R=reward,
                R_A=float(passed),
                R_B=0.5,
                R_C=0.1,
                R_D=0.2,
                gate=passed,
                advantage=round(float(rng.normal()), 4),
                prompt=f"prompt {step} {number // each}",
                completion=f"completion ü {number}\n",
            )
        )
        for place in range(length):
            for layer in LAYERS:
                lucky = passed and rng.random() < 0.8
                lines.append(record(rng, step, token + place, layer, lucky=lucky))
        token += length
    made.records += lines
    made.generations += [one.model_dump(by_alias=True) for one in generations]
    text = "".join(json.dumps(one) + "\n" for one in lines)
    return Chunk(text.encode(), len(lines)), generations


def _metrics(step: int, generations: list[Generation]) -> GRPOMetrics:
    rewards = [one.R or 0.0 for one in generations]
    return GRPOMetrics(
        iteration=step,
        rewards_mean=float(np.mean(rewards)),
        rewards_std=float(np.std(rewards, ddof=1)),
        rewards_min=min(rewards),
        rewards_max=max(rewards),
        advantage_mean=0.0,
        advantage_std=None,
        r_a_pass_rate=float(np.mean([bool(one.gate) for one in generations])),
        n_invalid_compositions=0,
    )


def _health(rng: np.random.Generator, step: int) -> SidecarHealth:
    layers = [
        LayerHealth(
            layer_index=layer,
            tokens=10,
            fvu=round(float(rng.random()), 4),
            cosine=0.9,
            l0=float(K),
            dead_share=None,
            input_norm=10.0,
            records_written=step,
            records_dropped=0,
        )
        for layer in LAYERS
    ]
    alarms = ["no reward variance: in 3 steps"] if step in (3, 4) else []
    return SidecarHealth(
        run_id=RUN_ID,
        step=step,
        time=1e9 + step,
        layers=layers,
        records_written=step,
        records_dropped=0,
        sidecar_ms=1.5,
        alarms=alarms,
    )
