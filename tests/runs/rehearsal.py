"""A trainer without a model: writes a run directory as the real one does, for tests of readers.

    python -m tests.runs.rehearsal DIRECTORY --steps 60 --seconds 0.2

Numbers are made up, the same ones for the same step. They tell a small story: rewards rise, some
features belong to generations that pass the gate, one step's losses are far off, and for a while
the trainer warns. The dictionaries are the shipped ones, so their features have descriptions.
"""

import argparse
import json
import random
import time
from pathlib import Path

from sonde.runs.layout import RunLayout
from sonde.runs.spool import Chunk
from sonde.runs.writer import RunWriter, line
from sonde.sae import shipped
from sonde.schema.records import (
    Cadence,
    Generation,
    GRPOMetrics,
    LayerHealth,
    RunInfo,
    RunMetadata,
    SAEFile,
    SAELogRecord,
    SidecarHealth,
)

LAYERS = (0, 15)
K = 16
EVERY = 2
SPIKE = 25
WORDS = ("The", "spoon", "is", "made", "of", "wood", "and", "the", "cup", "is", "of", "glass")
SUSTAINED = (101, 202, 303, 404)
"""Features that belong to generations which pass."""


def main() -> None:
    """Write a run, a step at a time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.2, help="between two steps")
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--flood", type=int, default=0, help="so many records a second instead")
    given = parser.parse_args()
    if given.flood:
        flood(given.directory, given.steps, given.flood)
        return
    rehearse(given.directory, given.first, given.steps, given.seconds, given.save_every)


def rehearse(
    directory: Path, first: int = 1, steps: int = 60, seconds: float = 0.0, save_every: int = 20
) -> None:
    """Write steps from the first on; a later first goes on with a run that is there."""
    layout = RunLayout(directory)
    with RunWriter.begin(layout) if first == 1 else RunWriter.resume(layout, first - 1) as writer:
        writer.describe(info())
        for step in range(first, first + steps):
            write_step(writer, step)
            if step % save_every == 0:
                layout.checkpoint(step).mkdir()  # as trainers do, for the weights
                writer.checkpoint(step, metadata(step))
            time.sleep(seconds)


def flood(directory: Path, steps: int, per_second: int) -> None:
    """Large steps of records and nothing else, as fast as is asked for."""
    with RunWriter.begin(RunLayout(directory)) as writer:
        writer.describe(info())
        chance, begun, written = random.Random(0), time.monotonic(), 0
        chunks = [records(generation(0, number, chance), chance) for number in range(8)] * 5
        lines = b"".join(chunk.lines for chunk in chunks)
        count = sum(chunk.records for chunk in chunks)
        for step in range(1, steps + 1):
            writer.add(records=[Chunk(lines.replace(b'"step":0,', b'"step":%d,' % step), count)])
            writer.spill()
            written += count
            time.sleep(max(0.0, begun + written / per_second - time.monotonic()))


def write_step(writer: RunWriter, step: int) -> None:
    """What one optimizer step leaves."""
    chance = random.Random(step)
    generations = [generation(step, number, chance) for number in range(8)]
    chunks = [records(each, chance) for each in generations]
    rewards = [each.R or 0.0 for each in generations]
    metrics = GRPOMetrics(
        iteration=step,
        rewards_mean=sum(rewards) / len(rewards),
        rewards_std=0.2,
        rewards_min=min(rewards),
        rewards_max=max(rewards),
        advantage_mean=0.0,
        advantage_std=1.0,
        r_a_pass_rate=sum(each.gate or False for each in generations) / len(generations),
        n_invalid_compositions=sum(not each.gate for each in generations),
    )
    writer.add(records=chunks, generations=generations, metrics=metrics)
    writer.spill()
    writer.report(health(step, chance))


def generation(step: int, number: int, chance: random.Random) -> Generation:
    """A completion; more of them pass as steps go by."""
    passed = chance.random() < 0.25 + 0.5 * min(step / 80, 1)
    words = WORDS[: chance.randint(8, len(WORDS))]
    start = number * len(WORDS)
    parts = [round(chance.uniform(0.3, 1.0), 3) for _ in range(3)] if passed else [0.0, 0.0, 0.0]
    reward = 0.50 * parts[0] + 0.05 * parts[1] + 0.45 * parts[2]
    return Generation(
        run_id="rehearsal",
        step=step,
        generation_id=f"{step}-{number}",
        group_id=f"{step}-{number // 4}",
        token_start=start,
        token_end=start + len(words),
        prompt_tokens=9,
        completion_tokens=len(words),
        truncated=False,
        R=round(reward, 4),
        R_A=float(passed),
        R_B=parts[0],
        R_C=parts[1],
        R_D=parts[2],
        gate=passed,
        advantage=round(chance.gauss(0, 1), 3),
        prompt="Question: what are the spoon and the cup made of? Answer:",
        completion=" ".join(words),
    )


def records(of: Generation, chance: random.Random) -> Chunk:
    """Its recorded tokens, in every layer."""
    lines = []
    for token in range(of.token_start, of.token_end, EVERY):
        for layer in LAYERS:
            features = chance.sample(range(500, 1500), K)
            if of.gate:
                features[: len(SUSTAINED)] = SUSTAINED
            features[-1] = 7 + layer
            values = sorted((chance.expovariate(0.2) + 1 for _ in features), reverse=True)
            calm = 40 + 3 * layer + chance.gauss(0, 3) - (6 if of.gate else 0)
            record = SAELogRecord(
                step=of.step,
                token_index=token,
                layer_index=layer,
                top_feature_indices=features,
                top_feature_activations=[round(value, 4) for value in values],
                reconstruction_loss=round(calm * (9 if of.step == SPIKE else 1), 4),
            )
            lines.append(line(record))
    return Chunk(b"".join(lines), len(lines))


def health(step: int, chance: random.Random) -> SidecarHealth:
    """How recording goes: well, but for a while rewards do not vary."""
    written = step * 8 * len(WORDS) // EVERY * len(LAYERS)
    layers = [
        LayerHealth(
            layer_index=layer,
            tokens=48,
            fvu=round(0.2 + 0.01 * layer + 0.001 * step + chance.gauss(0, 0.004), 4),
            cosine=0.9,
            l0=60 + chance.random(),
            dead_share=0.3,
            input_norm=20.0 + layer,
            records_written=written // len(LAYERS),
            records_dropped=0,
        )
        for layer in LAYERS
    ]
    alarms = ["no learning signal: all rewards of a step were equal"] if 10 <= step < 15 else []
    return SidecarHealth(
        run_id="rehearsal",
        step=step,
        time=time.time(),
        layers=layers,
        records_written=written,
        records_dropped=0,
        sidecar_ms=3.5,
        alarms=alarms,
    )


def info() -> RunInfo:
    """What the run says it is."""
    folders = shipped.layers()
    saes = [
        SAEFile(
            layer_index=layer,
            path=f"shipped/layer_{layer}",
            sha256=json.loads((folders[layer] / "autoencoder.json").read_text())["sha256"],
        )
        for layer in LAYERS
    ]
    cadence = Cadence(record_every_n_tokens=EVERY, spill_every_n_steps=1, save_every_n_steps=20)
    return RunInfo(
        run_id="rehearsal", model="SmolLM2-135M-Instruct", saes=saes, layers=list(LAYERS), k=K,
        cadence=cadence, versions={}, started=time.time(), status="running",
    )  # fmt: skip


def metadata(step: int) -> RunMetadata:
    """What stands beside a checkpoint."""
    return RunMetadata(
        run_id="rehearsal", catalog_path="catalog", catalog_version="1", catalog_n_templates=1,
        catalog_n_verbalized=1, catalog_n_complex=0, locked_weights={"a": 1.0},
        locked_weights_hash="0" * 16, t_i_cache_path=None, null_stats_path=None,
        null_stats_hash="missing", started_at=1.0, last_checkpoint_at=2.0,
        last_checkpoint_step=step, p5_brief_commit=None,
    )  # fmt: skip


if __name__ == "__main__":
    main()
