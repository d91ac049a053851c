"""What recording costs a training step.

CPU: the preset `smollm2-cpu`, real GRPO steps with and without recording in turns, two layers. Each
recorded step waits for its background work, so nothing is hidden behind the next one. On a machine
that does other things pairs differ by more than the sidecar costs, so the time spent in the sidecar
itself, in both threads, is measured as well, and its share of the step.

CUDA: the scoring pass of an 8B-shaped policy in bfloat16 with random weights, with and without
recording in turns: two layers, dictionaries with 65,536 features, every fourth completion token.
Several passes follow each other, as in training, and are encoded by a thread behind them; all of
that is done when the clock stops. Which kind comes first changes from round to round, because a
pass depends a little on what ran before it. Beside it, single passes that wait for their encoding,
and the time of each kernel of one encoding. Features are compared with those of a plain float32
product.

    python -m benchmarks.sidecar_overhead
    python -m benchmarks.sidecar_overhead --device cuda --out sidecar_overhead.json
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

from benchmarks.machine import kept, local, machine, median
from sonde.runs.background import Background
from sonde.sae.activations import TopK
from sonde.sae.autoencoder import Autoencoder
from sonde.training.encoding import Encoder
from sonde.training.pieces import PassSlice, Sample, places
from sonde.training.recorder import Recorder, chosen
from sonde.training.session import Session

TARGETS = {"cpu": 0.03, "cuda": 0.05}
LAYERS = (0, 16)
EVERY = 4
IN_A_ROW = 4


class Spent:
    """Seconds of CPU spent inside some functions, by the thread that runs them."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def inside(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any, **named: Any) -> Any:
            began = time.thread_time()
            try:
                return call(*given, **named)
            finally:
                self.seconds += time.thread_time() - began

        return timed


class InTurns(TrainerCallback):  # type: ignore[misc]
    """Every second step is recorded; each is timed, with what the sidecar itself took."""

    def __init__(self, training: Any, spent: Spent) -> None:
        self._training, self._spent = training, spent
        self._tap = training.sidecar._tap
        self._recorded, self._wall, self._cpu = False, 0.0, 0.0
        self.took: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
        self.shares: list[float] = []

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Begin the clocks."""
        self._recorded = state.global_step % 2 == 0
        self._tap._recorder = self._training.sidecar._recorder if self._recorded else None
        self._spent.seconds = 0.0
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Wait for the background, then stop them. The first pair of steps warms up."""
        self._training.sidecar._session._background.drain()
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        if state.global_step > 2:
            self.took[self._recorded].append((wall, cpu))
            if self._recorded:
                self.shares.append(self._spent.seconds / (cpu - self._spent.seconds))


def on_cpu(steps: int, threads: int, saes: str | None) -> dict[str, Any]:
    """Real steps of the default preset."""
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as directory:
        training = default_training(Path(directory), steps + 2, saes)
        spent = Spent()
        for where, name in (
            (training.sidecar._tap, "_samples"),
            (training.sidecar, "on_step_end"),
            (Recorder, "_read"),
            (Session, "_finish"),
            (Encoder, "encode"),
        ):
            setattr(where, name, spent.inside(getattr(where, name)))
        turns = InTurns(training, spent)
        training.trainer.add_callback(turns)
        training.run()
    took, pairs = turns.took, list(zip(turns.took[True], turns.took[False], strict=True))
    return {
        "what": f"smollm2-cpu, two layers, {steps} steps, {threads} threads",
        "step_s": median([wall for wall, _ in took[False]]),
        "recorded_step_s": median([wall for wall, _ in took[True]]),
        "pair_ratio_wall": median([one[0] / other[0] for one, other in pairs]),
        "pair_ratio_cpu": median([one[1] / other[1] for one, other in pairs]),
        "overhead": median(turns.shares),
        "target": TARGETS["cpu"],
    }


def default_training(directory: Path, steps: int, saes: str | None) -> Any:
    """The preset for the CPU, ready to begin."""
    from sonde.backends.torch.loading.load import load_model
    from sonde.settings import CheckpointConfig
    from sonde.training.dictionaries import load_dictionaries
    from sonde.training.grpo import Policy, assignment, prepare
    from sonde.training.plan import Plan, find_dictionaries, watched_layers
    from sonde.training.presets import PRESETS

    preset = PRESETS["smollm2-cpu"]
    layers = watched_layers(preset, 2, "auto")
    plan = Plan(
        preset=preset,
        recipe=replace(preset.recipe, max_steps=steps),
        base=preset.base,
        config=CheckpointConfig(output_dir=directory, save_steps=10**6),
        layers=layers,
        dictionaries=find_dictionaries(preset, saes, layers),
        sae_device="cpu",
        processes=1,
        seed=0,
    )
    loaded = load_model(plan.base, dtype="float32", device="cpu")
    asked = assignment(2 * steps, 0, prompts=None, reward=None)
    read = load_dictionaries(plan, lambda _line: None)
    return prepare(plan, Policy(loaded.model, loaded.tokenizer), read, asked)


def on_cuda(rows: int, prompt: int, completion: int, repeats: int) -> dict[str, Any]:
    """Scoring passes of an 8B-shaped policy."""
    policy = big_policy()
    saes = {layer: big_dictionary(layer) for layer in LAYERS}
    recorder = Recorder(chosen(policy, LAYERS), dict.fromkeys(LAYERS, "post_block"))
    encoder = Encoder(saes, k=16)
    ids = torch.randint(0, 30_000, (rows, prompt + completion), device="cuda")
    tokens = places([range(prompt, prompt + completion)] * rows, EVERY)
    samples = tuple(
        Sample(0, i, 0, "", "", prompt, completion, truncated=False) for i in range(rows)
    )

    def plain() -> None:
        with torch.no_grad():
            policy.model(input_ids=ids, use_cache=False)

    def recorded() -> None:
        with torch.no_grad(), recorder.reading(tokens) as read:
            policy.model(input_ids=ids, use_cache=False)
        encoder.encode([PassSlice(samples, (completion,) * rows, EVERY, read)])

    def reading_only() -> None:
        with torch.no_grad(), recorder.reading(tokens):
            policy.model(input_ids=ids, use_cache=False)

    def in_a_row(step: Callable[[], None]) -> None:
        for _ in range(IN_A_ROW):
            step()

    def handed_over() -> None:
        with torch.no_grad(), recorder.reading(tokens) as read:
            policy.model(input_ids=ids, use_cache=False)
        piece = PassSlice(samples, (completion,) * rows, EVERY, read)
        background.submit(lambda: encode(piece))

    def encode(piece: PassSlice) -> None:
        encoder.encode([piece])

    def behind() -> None:
        in_a_row(handed_over)
        background.drain()

    with Background("encoding", 0) as background:
        rounds = in_turns([lambda: in_a_row(plain), behind], repeats)
    times = in_turns([plain, reading_only, recorded], repeats)
    with torch.no_grad(), recorder.reading(tokens) as read:
        policy.model(input_ids=ids, use_cache=False)
    kernels = kernel_ms(lambda: encode(PassSlice(samples, (completion,) * rows, EVERY, read)))
    return {
        "what": f"{rows} × ({prompt} + {completion}) tokens, two layers, 65,536 features, "
        f"{len(tokens)} tokens recorded",
        "pass_ms": 1e3 * median([a for a, _, _ in times]),
        "read_ms": 1e3 * median([b for _, b, _ in times]),
        "recorded_ms": 1e3 * median([c for _, _, c in times]),
        "passes_in_a_row_ms": 1e3 * median([without for without, _ in rounds]) / IN_A_ROW,
        "overhead_of_reading": median([b / a for a, b, _ in times]) - 1,
        "overhead_when_waited_for": median([c / a for a, _, c in times]) - 1,
        "overhead": median([with_it / without for without, with_it in rounds]) - 1,
        "kernels_ms": sum(kernels.values()),
        "kernels": dict(sorted(kernels.items(), key=lambda each: -each[1])[:12]),
        "target": TARGETS["cuda"],
        "same_features": same_features(saes[LAYERS[0]]),
    }


def big_policy() -> Any:
    """Random weights in the shape of an 8B Llama; the vocabulary is small, as it is not scored."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32_000,
        hidden_size=4096,
        intermediate_size=14_336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        max_position_embeddings=8192,
    )
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    return model.eval()


def big_dictionary(seed: int) -> Autoencoder:
    """65,536 random features, weights in float32, k 100."""
    draw = torch.Generator("cuda").manual_seed(seed)
    W_enc = torch.randn(4096, 65_536, generator=draw, device="cuda") / 64
    return Autoencoder(
        W_enc=W_enc,
        b_enc=torch.zeros(65_536, device="cuda"),
        W_dec=W_enc.T.contiguous(),
        b_dec=torch.zeros(4096, device="cuda"),
        activation=TopK(100),
    )


def in_turns(runs: Sequence[Callable[[], None]], repeats: int) -> list[list[float]]:
    """Seconds of each, again and again, every second time in reverse order. The first two warm."""
    found = []
    for turn in range(repeats + 2):
        order = range(len(runs)) if turn % 2 else range(len(runs))[::-1]
        took = {place: on_device(runs[place]) for place in order}
        found.append([took[place] for place in range(len(runs))])
    return found[2:]


def kernel_ms(run: Callable[[], None]) -> dict[str, float]:
    """Milliseconds of every kernel of one call, by name."""
    run()
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        run()
        torch.cuda.synchronize()
    return {
        event.key[:80]: event.self_device_time_total / 1e3
        for event in profile.key_averages()
        if event.device_type.name == "CUDA"
    }


def on_device(run: Callable[[], None]) -> float:
    """How long one call takes, the device idle before and after."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    run()
    torch.cuda.synchronize()
    return time.perf_counter() - began


def same_features(sae: Autoencoder) -> dict[str, float]:
    """How far the quick encoding is from a plain float32 one."""
    from sonde.training.tensor_cores import SplitEncoder

    draw = torch.Generator("cuda").manual_seed(9)
    x = torch.randn(512, sae.d_in, generator=draw, device="cuda").bfloat16()
    found, wanted = SplitEncoder(sae).encode(x).top(16), sae.encode(x).top(16)
    return {
        "largest_difference": float((found[1] - wanted[1]).abs().max() / wanted[1].abs().max()),
        "same_indices": float((found[0] == wanted[0]).float().mean()),
    }


def main() -> None:
    """Measure, print, keep beside what was measured on other devices."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=TARGETS, default="cpu")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--saes", help="a folder of dictionaries, instead of those that ship")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--completion", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    about = machine()
    if asked.device == "cuda":
        about["gpu"] = torch.cuda.get_device_name()
        found = on_cuda(asked.rows, asked.prompt, asked.completion, asked.repeats)
    else:
        found = on_cpu(asked.steps, asked.threads, asked.saes)
    result = {"machine": about, **found}
    parts = kept("sidecar_overhead") | {asked.device: result}
    (asked.out or local("sidecar_overhead")).write_text(json.dumps(parts, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
