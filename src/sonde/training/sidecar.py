"""The callback that makes a training run visible: three lines in anyone's script.

    from sonde.training import SidecarCallback

    sidecar = SidecarCallback({15: sae})   # by layer; any number of layers
    sidecar.attach(trainer)                # TRL's GRPOTrainer: completions and rewards too
    trainer.train()

With any other Hugging Face `Trainer`, pass it in `callbacks=[...]` and leave out `attach`: records
then join to the rows of the batch, which have no reward. Files go where the checkpoints go, to the
trainer's `output_dir`. With several processes each reads its own rows, and the first one writes
those of all.
"""

import atexit
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from accelerate.utils import gather_object
from transformers import TrainerCallback

from sonde.errors import BadTrainer, MissingDictionary, ResumeDrift, RunExists
from sonde.runs.archive import run_found
from sonde.runs.layout import RunLayout
from sonde.runs.reader import run_info as read_info
from sonde.runs.totals import Totals, totals
from sonde.runs.writer import RunWriter
from sonde.sae.autoencoder import Autoencoder
from sonde.schema.records import RunStatus
from sonde.settings import CheckpointConfig, load_settings
from sonde.training.description import dictionaries, run_info
from sonde.training.encoding import Encoder
from sonde.training.grpo_tap import GRPOTap
from sonde.training.metadata import Task, drift, metadata, never_recorded, read_metadata
from sonde.training.plain_tap import PlainTap, length_limit
from sonde.training.recorder import Recorder, chosen
from sonde.training.session import CAPACITY, Ended, Session
from sonde.training.summary import StepSummary
from sonde.training.worktree import commit, find_worktree

log = logging.getLogger("sonde.training")

Existing = Literal["refuse", "archive", "resume"]
"""What to do with a run that is in the directory when a new one begins at step 0."""


class SidecarCallback(TrainerCallback):  # type: ignore[misc]
    """Records what dictionaries see in a training run, and writes the run directory."""

    def __init__(
        self,
        saes: Mapping[int, Autoencoder],
        *,
        k: int = 16,
        record_every_n_tokens: int = 4,
        record_last_prompt_token: bool = False,
        config: CheckpointConfig | None = None,
        task: Task | None = None,
        preset: str | None = None,
        existing: Existing = "refuse",
        strict_resume: bool = True,
        listen: Callable[[StepSummary], None] | None = None,
        capacity: int = CAPACITY,
    ) -> None:
        _check(saes, k, record_every_n_tokens)
        self._saes = dict(sorted(saes.items()))
        self._k, self._every, self._capacity = k, record_every_n_tokens, capacity
        self._prompts = record_last_prompt_token
        self._config = config or load_settings().checkpoint
        self._task, self._preset = task or Task(), preset
        self._existing, self._strict = existing, strict_resume
        self._listen = listen or _log_alarms
        self._tap: GRPOTap | PlainTap | None = None
        self._recorder: Recorder | None = None
        self._encoder: Encoder | None = None
        self._session: Session | None = None
        self.ended: Ended | None = None
        """What was written and lost, once the run is over; None in processes that do not write."""
        self._commit: str | None = None

    def attach(self, trainer: Any) -> None:
        """Stand beside a GRPO trainer: completions, rewards and advantages are recorded too."""
        self._tap = GRPOTap(trainer, self._every, prompts=self._prompts)
        if self not in trainer.callback_handler.callbacks:
            trainer.add_callback(self)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Put the hooks on; open the run, or go on with it."""
        model = kwargs["model"]
        if self._tap is None:
            _refuse_grpo(args)
            if self._prompts:
                raise BadTrainer(
                    "record_last_prompt_token is for trainers whose prompts end where completions "
                    "begin: call sidecar.attach(trainer), or leave it out"
                )
            first = args.process_index << 20
            tokenizer = kwargs.get("processing_class")
            limit = length_limit(args, tokenizer)
            self._tap = PlainTap(model, tokenizer, self._every, first, limit)
        hooks = {layer: sae.hook or "post_block" for layer, sae in self._saes.items()}
        self._recorder = Recorder(chosen(model, list(self._saes)), hooks)
        self._encoder = Encoder(self._saes, self._k)
        self._tap.start(self._recorder)
        if state.is_world_process_zero:
            _say_where(Path(args.output_dir))
            self._session = self._open(args, state, model)
            atexit.register(self.close, "stopped")

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Hand over what was read of this step."""
        if self._tap is None or self._encoder is None:
            return
        began = time.perf_counter()
        pieces, cost = self._tap.take(), self._tap.seconds
        self._tap.seconds = 0.0
        step = state.global_step
        if args.world_size > 1:
            gathered = gather_object(self._encoder.encode(pieces))
            if self._session:
                cost += time.perf_counter() - began
                self._session.hand_over_encoded(step, gathered, cost)
        elif self._session:
            cost += time.perf_counter() - began
            self._session.hand_over(step, pieces, cost)
        if self._session and control.should_save:
            # Before the checkpoint is there: one that can be resumed from has all its records.
            self._session.settle()

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Keep what the trainer logs of this step: loss, entropy, gradient norm and the like."""
        if self._session is not None and kwargs.get("logs"):
            self._session.logged(state.global_step, kwargs["logs"])

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Close the records of this checkpoint, and say what it belongs to."""
        if self._session is None:
            return
        info = self._session.info
        done = metadata(
            info.run_id,
            self._task,
            step=state.global_step,
            started=info.started,
            commit=self._commit,
        )
        if not self._session.checkpoint(state.global_step, done):
            log.warning(
                "checkpoint-%d cannot be resumed from until its records are on disk: %s",
                state.global_step,
                "; ".join(self._session.writer.failures),
            )

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Say how the run ended, and leave the trainer as it was."""
        self.close("finished" if state.global_step >= state.max_steps else "stopped")

    def close(self, status: RunStatus, error: str | None = None) -> None:
        """End the run. `on_train_end` does; call it yourself when training failed."""
        session, self._session = self._session, None
        for part in (self._recorder, self._tap):
            if part is not None:
                part.remove()
        self._recorder = self._tap = self._encoder = None
        if session is not None:
            atexit.unregister(self.close)
            self.ended = session.close(status, error)
            if self.ended.lost:
                log.error("%s could not be written: %s", self.ended.lost, self.ended.why)

    def _open(self, args: Any, state: Any, model: Any) -> Session:
        layout = self._config.layout(Path(args.output_dir))
        self._commit = commit(find_worktree(Path.cwd()))
        resumed = state.global_step > 0 or self._existing == "resume"
        before = read_info(layout) if resumed else None
        so_far = Totals()
        if state.global_step > 0:
            _refuse_stranger(layout, state.global_step)
            self._compare(layout, state.global_step)
            writer = RunWriter.resume(layout, state.global_step)
            so_far = totals(layout)
        elif self._existing == "resume":
            writer = RunWriter.resume(layout, 0)
        else:
            writer = RunWriter.begin(layout, set_aside=self._existing == "archive")
        info = run_info(
            run_id=before.run_id if before else str(uuid.uuid4()),
            started=before.started if before else time.time(),
            model=model,
            saes=self._saes,
            k=self._k,
            every=self._every,
            prompts=self._prompts,
            spill_every=self._config.sae_live_spill_every_n_steps,
            save_every=int(args.save_steps) if args.save_strategy == "steps" else None,
            task=self._task,
            max_steps=state.max_steps,
            seed=getattr(args, "seed", None),
            preset=self._preset,
        )
        assert self._encoder is not None
        return Session(
            writer,
            self._encoder,
            info,
            spill_every=self._config.sae_live_spill_every_n_steps,
            rewarded=isinstance(self._tap, GRPOTap),
            capacity=self._capacity,
            listen=self._listen,
            before=so_far,
        )

    def _compare(self, layout: RunLayout, step: int) -> None:
        """Refuse, or log, a resume that would be another run."""
        then, info = read_metadata(layout, step), read_info(layout)
        if then is None:
            found = never_recorded(layout, info, step)
        else:
            found = drift(then, info, self._task, dictionaries(self._saes))
        if found and self._strict:
            raise ResumeDrift(f"checkpoint-{step}", found)
        for difference in found:
            log.warning("resumed although %s", difference)


def _check(saes: Mapping[int, Autoencoder], k: int, every: int) -> None:
    if k < 1 or every < 1:
        raise BadTrainer(f"k={k} and record_every_n_tokens={every} must both be at least 1")
    for layer, sae in saes.items():
        if sae.is_transcoder:
            raise MissingDictionary(
                f"the dictionary of layer {layer} reads {sae.hook} and predicts {sae.hook_out}; "
                "the sidecar needs one that reconstructs what it reads"
            )


def _refuse_grpo(args: Any) -> None:
    """A GRPO run without `attach` would be recorded without rewards, and nobody would notice."""
    if any(kind.__name__ == "GRPOConfig" for kind in type(args).__mro__):
        raise BadTrainer(
            "this is a GRPO trainer: call sidecar.attach(trainer) before trainer.train(), so that "
            "completions and rewards are recorded"
        )


def _refuse_stranger(layout: RunLayout, step: int) -> None:
    """A run resumed from a checkpoint elsewhere must not go on in the files of another one."""
    if not layout.checkpoint(step).is_dir() and (found := run_found(layout)):
        raise RunExists(str(layout.directory), found)


def _say_where(output_dir: Path) -> None:
    """A gateway looks where the settings say; a script of one's own may write somewhere else."""
    settings = load_settings()
    watched = settings.p5.output_dir.resolve()
    if "aegir.p5.output_dir" in settings.origins and output_dir.resolve() != watched:
        log.warning(
            "files go to %s, but gateways read %s (from %s); set the trainer's output_dir to it",
            output_dir,
            watched,
            settings.origins["aegir.p5.output_dir"],
        )


def _log_alarms(summary: StepSummary) -> None:
    for alarm in summary.new_alarms:
        log.warning("step %d: %s", summary.step, alarm)
