"""The callback on real trainers. That what it records is right is shown in `test_ground_truth`."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments
from trl import GRPOTrainer

from sonde.errors import (
    BadTrainer,
    LayerOutOfRange,
    MissingDictionary,
    ResumeDrift,
    RunExists,
)
from sonde.runs.layout import RunLayout
from sonde.schema.records import Generation, GRPOMetrics, RunInfo, RunMetadata, SAELogRecord
from sonde.settings import CheckpointConfig
from sonde.training import SidecarCallback
from sonde.training.metadata import last_checkpoint
from tests.training import tiny_run
from tests.training.short_run import Run
from tests.training.tiny_run import LAYERS, Rewards, lines, records

tiny_run.quiet()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of five steps that saves every second one and keeps one checkpoint."""
    directory = tmp_path_factory.mktemp("saved")
    return Run(
        directory, max_steps=5, save_strategy="steps", save_steps=2, save_total_limit=1, every=3
    )


def test_every_record_joins_to_exactly_one_generation_and_its_reward(saved: Run) -> None:
    pairs = list(tiny_run.joined(saved.directory))
    assert len(pairs) > 20
    for _, generation in pairs:
        assert generation["R"] == tiny_run.reward_of(generation["completion"])
        assert generation["gate"] == (generation["R_A"] == 1)


def test_steps_count_from_one_and_layers_share_their_tokens(saved: Run) -> None:
    """Not 0 everywhere, not the first layer only, not calls instead of tokens."""
    found = records(saved.directory)
    assert sorted({record["step"] for record in found}) == [1, 2, 3, 4, 5]
    by_layer = [
        [(record["step"], record["token_index"]) for record in found if record["layer_index"] == n]
        for n in LAYERS
    ]
    assert by_layer[0] == by_layer[1]


def test_history_outlives_the_checkpoints_that_were_deleted(saved: Run) -> None:
    folders = sorted(path.name for path in saved.directory.glob("checkpoint-*"))
    assert folders == ["checkpoint-5"]
    segments = sorted(path.name for path in (saved.directory / "segments").iterdir())
    assert segments == ["2.jsonl", "4.jsonl", "5.jsonl"]
    assert not (saved.directory / "sae_features.live.jsonl").exists()
    snapshot = lines(saved.directory / "checkpoint-5" / "sae_features.jsonl")
    assert {record["step"] for record in snapshot} == {5}


class BeforeSave(TrainerCallback):  # type: ignore[misc]
    """What is in the files when a checkpoint has just been made, before the sidecar hears of it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.steps: dict[int, set[int]] = {}

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        written = {record["step"] for record in records(self.directory)}
        self.steps[state.global_step] = written


@pytest.mark.slow
def test_what_belongs_to_a_checkpoint_is_on_disk_before_it_is(tmp_path: Path) -> None:
    """Killed just after a checkpoint was made, a run that resumes from it has lost no record."""
    before = BeforeSave(tmp_path)
    config = CheckpointConfig(sae_live_spill_every_n_steps=100)
    saving: dict[str, Any] = {"save_strategy": "steps", "save_steps": 2, "max_steps": 4}
    Run(tmp_path, callbacks=[before], config=config, **saving)
    assert before.steps == {2: {1, 2}, 4: {1, 2, 3, 4}}


def test_readers_that_pass_keys_on_as_arguments_read_every_file(saved: Run) -> None:
    """Dataclasses with exactly the reference's fields, and nothing to catch another one."""
    import dataclasses

    def reader(model: type[Any]) -> Any:
        return dataclasses.make_dataclass(model.__name__, list(model.model_fields))

    for line in records(saved.directory):
        reader(SAELogRecord)(**line)
    for line in lines(saved.directory / "grpo_metrics.jsonl"):
        assert len(line) == 9
        reader(GRPOMetrics)(**line)
    text = (saved.directory / "checkpoint-5" / "aegir_metadata.json").read_text()
    described = reader(RunMetadata)(**json.loads(text))
    assert described.last_checkpoint_step == 5
    for line in lines(saved.directory / "generations.jsonl"):
        Generation.model_validate(line)
    info = RunInfo.model_validate_json((saved.directory / "run.json").read_bytes())
    assert (info.status, info.run_id) == ("finished", described.run_id)


def test_metrics_are_those_of_the_step(saved: Run) -> None:
    generations = lines(saved.directory / "generations.jsonl")
    for line in lines(saved.directory / "grpo_metrics.jsonl"):
        rewards = [each["R"] for each in generations if each["step"] == line["iteration"]]
        assert line["rewards_mean"] == pytest.approx(np.mean(rewards))
        assert line["rewards_std"] == pytest.approx(np.std(rewards, ddof=1))


def test_the_trainer_is_left_as_it_was(saved: Run) -> None:
    assert "_compute_loss" not in saved.trainer.__dict__
    model = saved.trainer.model
    assert all(not layer._forward_hooks for layer in model.model.layers)


def test_a_fresh_run_refuses_the_directory_of_another(saved: Run) -> None:
    before = (saved.directory / "generations.jsonl").read_bytes()
    with pytest.raises(RunExists, match="already holds a run"):
        Run(saved.directory)
    assert (saved.directory / "generations.jsonl").read_bytes() == before


@pytest.mark.slow
def test_a_resumed_run_counts_every_step_once(tmp_path: Path) -> None:
    saving: dict[str, Any] = {"save_strategy": "steps", "save_steps": 2}
    first = Run(tmp_path, max_steps=3, **saving)
    before = RunInfo.model_validate_json((tmp_path / "run.json").read_bytes())
    # As if it had been killed in step 4, before the last save: its tail is still in the live file.
    (tmp_path / "segments" / "3.jsonl").rename(tmp_path / "sae_features.live.jsonl")
    with (tmp_path / "sae_features.live.jsonl").open("a") as live:
        live.write('{"step":4,"token_in')
    again = Run(tmp_path, max_steps=5, resume=str(tmp_path / "checkpoint-2"), **saving)
    again.rewards.seen += first.rewards.seen
    again.weights.at = first.weights.at | again.weights.at
    assert again.check() > 20
    steps = Counter(each["step"] for each in lines(tmp_path / "generations.jsonl"))
    assert steps == dict.fromkeys(range(1, 6), 4)
    iterations = [each["iteration"] for each in lines(tmp_path / "grpo_metrics.jsonl")]
    assert iterations == [1, 2, 3, 4, 5]
    assert [each["step"] for each in lines(tmp_path / "telemetry.jsonl")] == [1, 2, 3, 4, 5]
    aside = lines(tmp_path / "segments" / "abandoned-2-0.jsonl")
    assert {record["step"] for record in aside} == {3}
    after = RunInfo.model_validate_json((tmp_path / "run.json").read_bytes())
    assert (after.run_id, after.started) == (before.run_id, before.started)


@pytest.mark.slow
def test_03_a_checkpoint_whose_records_were_never_written_is_not_resumed_from(
    tmp_path: Path,
) -> None:
    saving: dict[str, Any] = {"save_strategy": "steps", "save_steps": 2}
    program = [sys.executable, "-m", "tests.training.full_disk_training", str(tmp_path)]
    assert subprocess.run(program, capture_output=True).returncode == 9
    assert {record["step"] for record in records(tmp_path)} == {1, 2}
    assert last_checkpoint(RunLayout(tmp_path)) == 2
    with pytest.raises(ResumeDrift, match=r"never finished: records of steps 3 to 4"):
        Run(tmp_path, max_steps=6, resume=str(tmp_path / "checkpoint-4"), **saving)
    again = Run(tmp_path, max_steps=6, resume=str(tmp_path / "checkpoint-2"), **saving)
    assert {record["step"] for record in records(tmp_path)} == set(range(1, 7))
    assert len(list(tiny_run.joined(tmp_path))) == len(records(tmp_path))
    assert again.sidecar.ended is not None
    assert again.sidecar.ended.lost is None
    assert again.sidecar.ended.counts.records_written == len(records(tmp_path))


@pytest.mark.slow
def test_a_resume_that_would_be_another_run_is_refused(tmp_path: Path) -> None:
    saving: dict[str, Any] = {"save_strategy": "steps", "save_steps": 2}
    Run(tmp_path, max_steps=2, **saving)
    path = tmp_path / "checkpoint-2" / "aegir_metadata.json"
    changed = json.loads(path.read_text()) | {"catalog_version": "0.9", "catalog_n_templates": 3}
    path.write_text(json.dumps(changed))
    with pytest.raises(ResumeDrift, match=r"catalog version.*number of templates"):
        Run(tmp_path, max_steps=3, resume=str(path.parent), **saving)


@pytest.mark.slow
def test_a_run_resumed_from_elsewhere_does_not_go_on_in_the_files_of_another(
    saved: Run, tmp_path: Path
) -> None:
    Run(tmp_path / "other", max_steps=2, save_strategy="steps", save_steps=2)
    before = (saved.directory / "generations.jsonl").read_bytes()
    with pytest.raises(RunExists, match="already holds a run"):
        Run(saved.directory, max_steps=3, resume=str(tmp_path / "other" / "checkpoint-2"))
    assert (saved.directory / "generations.jsonl").read_bytes() == before
    Run(tmp_path / "new", max_steps=3, resume=str(tmp_path / "other" / "checkpoint-2"))
    assert {each["step"] for each in lines(tmp_path / "new" / "generations.jsonl")} == {3}


def test_any_trainer_is_recorded_and_its_rows_have_no_reward(tmp_path: Path) -> None:
    model, tokenizer = tiny_run.policy()
    texts = ["The Eiffel Tower is in", "The Colosseum is in the city of Rome"]
    rows = []
    for text in texts * 2:
        ids = tokenizer(text)["input_ids"]
        rows.append({"input_ids": ids, "labels": [-100, -100, *ids[2:]]})
    sidecar = SidecarCallback(tiny_run.saes(), record_every_n_tokens=1)
    Trainer(
        model,
        TrainingArguments(
            output_dir=str(tmp_path),
            per_device_train_batch_size=1,
            max_steps=2,
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
            save_strategy="no",
            logging_strategy="no",
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[sidecar],
    ).train()
    generations = lines(tmp_path / "generations.jsonl")
    assert [each["R"] for each in generations] == [None, None]
    pairs = list(tiny_run.joined(tmp_path))
    assert len(pairs) == sum(each["completion_tokens"] for each in generations) * len(LAYERS)
    assert all(each["prompt"] + each["completion"] in texts for each in generations)
    assert not (tmp_path / "grpo_metrics.jsonl").exists()


def trainer_of(output_dir: Path, *callbacks: TrainerCallback) -> GRPOTrainer:
    model, tokenizer = tiny_run.policy()
    return GRPOTrainer(
        model,
        reward_funcs=Rewards(),
        args=tiny_run.config(output_dir),
        train_dataset=tiny_run.prompts(),
        processing_class=tokenizer,
        callbacks=list(callbacks),
    )


def test_a_grpo_trainer_without_attach_is_told_so(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, SidecarCallback(tiny_run.saes()))
    with pytest.raises(BadTrainer, match=r"sidecar\.attach\(trainer\)"):
        trainer.train()


def test_what_cannot_be_recorded_is_refused() -> None:
    sae = tiny_run.tiny_sae(0)
    transcoder = type(sae)(**{**sae.__dict__, "hook": "mlp_in", "hook_out": "mlp_out"})
    with pytest.raises(MissingDictionary, match="layer 3 reads mlp_in and predicts mlp_out"):
        SidecarCallback({3: transcoder})
    with pytest.raises(BadTrainer, match="k=0"):
        SidecarCallback({0: sae}, k=0)


def test_a_dictionary_for_a_layer_that_is_not_there_is_refused(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path)
    SidecarCallback({7: tiny_run.tiny_sae(0)}).attach(trainer)
    with pytest.raises(LayerOutOfRange, match="layer 7"):
        trainer.train()


@pytest.mark.slow
def test_files_that_no_gateway_will_find_are_worth_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AEGIR_P5_OUTPUT_DIR", str(tmp_path / "watched"))
    Run(tmp_path / "elsewhere", max_steps=1)
    assert f"gateways read {tmp_path / 'watched'} (from the variable" in caplog.text


@pytest.mark.slow
def test_a_watched_run_ends_with_the_weights_of_one_that_is_not(tmp_path: Path) -> None:
    ended = [
        tiny_run.merged(Run(tmp_path / name, watched=watched, max_steps=4).trainer.model)
        for name, watched in (("watched", True), ("alone", False))
    ]
    assert not (tmp_path / "alone" / "generations.jsonl").exists()
    assert all(torch.equal(one, ended[1][name]) for name, one in ended[0].items())
