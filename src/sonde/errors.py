"""Every error Sonde raises on purpose.

SondeError
├── RequestError                the caller can fix it
│   ├── BadRequest              a field, alone or with another, makes no sense
│   │   ├── UnknownHook
│   │   ├── LayerOutOfRange
│   │   ├── PositionOutOfRange
│   │   ├── SpanNotFound
│   │   ├── NotOneToken
│   │   ├── NothingToPatch      an empty grid, or no position that can be aligned
│   │   └── BadVectors          a mask or vector table that does not fit the model
│   ├── BadAutoencoder          a file that is no dictionary, or not one to trust
│   │   ├── UnknownFormat       nothing in it says which format it is
│   │   ├── UnsafeFile          opening it would run what is in it
│   │   ├── DamagedFile         cut short, or it contradicts itself
│   │   ├── BadWeights          shapes that do not fit, NaN, a type without fractions
│   │   └── NotSaid             the files do not say it; the caller can
│   ├── UnknownModel
│   ├── NoModel                 a server that only shows runs was asked for one
│   ├── UnknownVector           a named vector nobody registered
│   ├── VectorsExist            a name that has vectors already
│   ├── UnknownSourceRun        a run, or a site of it, that is not in the store
│   │   ├── SourceRunDropped    it was there when the sweep began
│   │   └── StaleSourceRun      captured under other weights
│   ├── RequestTooLarge         carries needed_bytes and budget_bytes
│   ├── BadSetting              a setting, with the file, variable or flag it came from
│   ├── UnknownRun              a run directory that is not there
│   ├── UnknownGeneration       a generation that its run does not have
│   ├── RunExists               a directory that holds another run already
│   ├── RunInUse                another process writes to it
│   ├── ResumeDrift             a resumed run that would not be the one that was begun
│   ├── MissingDictionary       a layer to be watched that has no dictionary
│   ├── BadTrainer              a trainer or a model the sidecar cannot read
│   ├── BadReward               a reward plug-in that cannot be loaded
│   ├── SharedResource          a second worktree about to use what the first one does
│   ├── UnknownSweep            an id that is not in the history
│   └── SweepNotFinished        asked for the result of a sweep that has none
├── EngineError                 we, or the machine, have to fix it
│   ├── BaselineFailed          the unpatched prompt could not be run
│   ├── CaptureFailed           the clean prompt could not be captured
│   ├── HookNeverFired          a patch that silently did nothing
│   ├── ControlFailed           a control cell differs from the baseline
│   ├── OutOfMemory             the machine had none left for a single cell
│   ├── AnalyticsFailed         no disk takes what was read of a run
│   ├── EngineLost              what computes has died; nothing will work until a restart
│   ├── JobCancelled            it was stopped before its end
│   └── ServerStopping          the server takes no more work
├── ServerBusy                  the queue is full; carries retry_after in seconds
├── DataDirectoryError          the directory of finished sweeps cannot be used
│   └── DataDirectoryInUse      another server has it
└── MissingExtra                an optional part of Sonde is not installed
    └── MissingInterface        the same for the pages, which are built with Node

Each message says what was wrong, with the value, and what to do next.
"""

from collections.abc import Iterable, Sequence


class SondeError(Exception):
    """Anything Sonde raises on purpose."""


class RequestError(SondeError):
    """The caller asked for something that cannot be done as asked."""


class BadRequest(RequestError):
    """A value, alone or with another, makes no sense."""


class UnknownHook(BadRequest):
    """A hook name that does not exist, or that this model does not have."""

    def __init__(self, hook: str, supported: Iterable[str]) -> None:
        super().__init__(
            f"hook {hook!r} is not injectable on this model; valid hooks: {sorted(supported)}"
        )


class LayerOutOfRange(BadRequest):
    """A layer that the model does not have."""

    def __init__(self, layer: int, n_layers: int) -> None:
        super().__init__(
            f"layer {layer} is out of range [0, {n_layers}); this model has {n_layers} layers"
        )


class PositionOutOfRange(BadRequest):
    """A token position outside the prompt."""

    def __init__(self, position: int, n_tokens: int, *, prompt: str = "prompt") -> None:
        super().__init__(
            f"position {position} is out of range [0, {n_tokens}); "
            f"the {prompt} has {n_tokens} tokens"
        )


class SpanNotFound(BadRequest):
    """A substring that selects no token of the prompt."""


class NotOneToken(BadRequest):
    """An answer or foil that is not exactly one token."""

    def __init__(self, field: str, text: str, tokens: Sequence[int], pieces: Sequence[str]) -> None:
        super().__init__(
            f"{field} {text!r} tokenizes to {len(tokens)} tokens {list(pieces)}; "
            f"choose a one-token word (a leading space often matters) or pass {field}_id explicitly"
        )


class NothingToPatch(BadRequest):
    """The grid has no cell."""


class BadVectors(BadRequest):
    """A mask or a table of vectors that does not fit."""


class BadAutoencoder(RequestError):
    """A file that is not a dictionary, or not one that can be used as it is."""


class UnknownFormat(BadAutoencoder):
    """A path with nothing in it that says which format it is."""


class UnsafeFile(BadAutoencoder):
    """A file that asks for code to be run when it is opened, or leads out of its folder."""


class DamagedFile(BadAutoencoder):
    """A file that is cut short, or whose parts contradict each other."""


class BadWeights(BadAutoencoder):
    """Tensors whose names, shapes, types or values do not make a dictionary."""


class NotSaid(BadAutoencoder):
    """Something the files leave open, and that would be a guess."""


class UnknownModel(RequestError):
    """A model name that leads nowhere."""


class NoModel(RequestError):
    """Something that takes a model was asked of a server that has none."""

    def __init__(self) -> None:
        super().__init__("this server has no model; start one with: sonde serve --model smollm2")


class UnknownVector(RequestError):
    """A named vector that nobody registered."""

    def __init__(self, name: str, available: Iterable[str]) -> None:
        super().__init__(f"unknown source_module {name!r}; available: {sorted(available)}")


class VectorsExist(RequestError):
    """A name that has vectors already."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"vectors named {name!r} are registered already; choose another name, "
            "or pass replace: true to put these in their place"
        )


class UnknownSourceRun(RequestError):
    """A source run, or a site of one, that the store does not hold."""


class SourceRunDropped(UnknownSourceRun):
    """A source run that was dropped, or replaced, while it was needed."""

    def __init__(self, run: str) -> None:
        super().__init__(
            f"source dropped: run {run!r} was dropped or replaced while it was needed; "
            "capture it again and repeat the request"
        )


class StaleSourceRun(UnknownSourceRun):
    """A source run captured under weights that are no longer loaded."""

    def __init__(self, run: str, captured: str, loaded: str) -> None:
        super().__init__(
            f"source run {run!r} was captured under weights {captured}, "
            f"but {loaded} are loaded; capture it again"
        )


class RequestTooLarge(RequestError):
    """The work does not fit the memory it may use."""

    def __init__(self, what: str, needed_bytes: int, budget_bytes: int, remedy: str) -> None:
        self.needed_bytes, self.budget_bytes = needed_bytes, budget_bytes
        super().__init__(
            f"{what} needs {_size(needed_bytes)} and the budget is {_size(budget_bytes)}; {remedy}"
        )


def _size(n_bytes: int) -> str:
    return f"{n_bytes:,} bytes" if n_bytes < 2**20 else f"{n_bytes / 2**20:,.1f} MiB"


class BadSetting(RequestError):
    """A value from the configuration, the environment or a flag that cannot be used."""

    def __init__(self, key: str, value: object, origin: str, expected: str) -> None:
        super().__init__(f"{key} = {str(value)[:200]!r} (from {origin}) is not {expected}")


class UnknownRun(RequestError):
    """A run directory that is not there, or is none."""

    def __init__(self, run: str, ask: str = "GET /api/runs") -> None:
        super().__init__(f"there is no run {run[:128]!r}; {ask} lists those there are")


class UnknownGeneration(RequestError):
    """A generation that is not in its run's file."""

    def __init__(self, generation: str, why: str) -> None:
        super().__init__(f"there is no generation {generation[:64]!r}: {why}")


class RunExists(RequestError):
    """A run directory that a fresh run must not write to. Nothing in it was changed."""

    def __init__(self, directory: str, found: str) -> None:
        super().__init__(
            f"{directory} already holds a run ({found}); resume it (--resume), set it aside "
            "(--archive; in a script SidecarCallback(existing='archive')), or choose another "
            "directory (--output-dir or AEGIR_P5_OUTPUT_DIR)"
        )


class RunInUse(RequestError):
    """A run directory that another process writes to."""

    def __init__(self, directory: str, holder: str) -> None:
        super().__init__(
            f"{directory} is being written by {holder}; wait for it, stop it, "
            "or choose another directory (--output-dir or AEGIR_P5_OUTPUT_DIR)"
        )


class ResumeDrift(RequestError):
    """What a run depends on has changed since it was begun."""

    def __init__(self, checkpoint: str, differences: Sequence[str]) -> None:
        self.differences = list(differences)
        super().__init__(
            f"cannot resume {checkpoint}: {'; '.join(differences)}. "
            "Put them back, or accept the change with --no-strict-resume"
        )


class MissingDictionary(RequestError):
    """A layer that was asked for and has no dictionary: a gap nobody would notice."""


class BadTrainer(RequestError):
    """A trainer, or a model, that the sidecar does not know how to read."""


class BadReward(RequestError):
    """A reward that cannot be loaded, or that returns something else than rewards."""


class SharedResource(RequestError):
    """A linked worktree about to use a directory or a port that the primary one uses."""


class UnknownSweep(RequestError):
    """A sweep id that the history does not hold."""

    def __init__(self, sweep: str) -> None:
        super().__init__(f"no sweep {sweep[:64]!r} in the history; GET /v1/patch_sweep lists them")


class SweepNotFinished(RequestError):
    """A sweep that has no result, or none yet."""

    def __init__(self, sweep: str, state: str) -> None:
        super().__init__(f"sweep {sweep!r} is {state}: it has no result to show")


class EngineError(SondeError):
    """Something went wrong on our side of the line."""


class BaselineFailed(EngineError):
    """The unpatched corrupt prompt could not be run."""


class CaptureFailed(EngineError):
    """The clean prompt could not be captured."""


class HookNeverFired(EngineError):
    """A patch whose site was not reached: no number may come of it."""


class ControlFailed(EngineError):
    """A control cell, which changes nothing by construction, changed something."""


class OutOfMemory(EngineError):
    """Not even one cell fits the memory that is left."""

    def __init__(self) -> None:
        super().__init__(
            "out of memory: there was not enough for a single cell; no number of this sweep was "
            "kept. Shorten the prompt, free memory, or take a smaller model or dtype"
        )


class AnalyticsFailed(EngineError):
    """What was read of a run could not be kept anywhere. The run itself was not touched."""

    def __init__(self, failures: Sequence[str]) -> None:
        super().__init__(
            f"records cannot be compacted: {'; '.join(failures)[:500]}; free some space, or point "
            "XDG_CACHE_HOME or TMPDIR to a disk that has some"
        )


class EngineLost(EngineError):
    """A process that the model runs in has ended. No later work can succeed."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"the engine is lost: {' '.join(what.split())[:300]}. Start the server again"
        )


class JobCancelled(EngineError):
    """A sweep or a completion that was stopped before its end."""

    def __init__(self, why: str = "cancelled before its end") -> None:
        super().__init__(why)


class ServerStopping(EngineError):
    """The server is shutting down."""

    def __init__(self) -> None:
        super().__init__("the server is shutting down; send the request again in a moment")


class ServerBusy(SondeError):
    """More work than may wait."""

    def __init__(self, waiting: int, retry_after: int = 5) -> None:
        self.retry_after = retry_after
        super().__init__(
            f"{waiting} requests are waiting already, as many as may; "
            f"try again in {retry_after} seconds"
        )


class DataDirectoryError(SondeError):
    """A data directory that cannot be used as it is. Nothing in it was changed or deleted."""


class DataDirectoryInUse(DataDirectoryError):
    """A data directory that another server has open."""

    def __init__(self, directory: str, process: str) -> None:
        super().__init__(
            f"data directory {directory!r} is in use by another sonde server (process {process}); "
            "stop that one, or give this one a directory of its own with --data-dir"
        )


class MissingExtra(SondeError):
    """An optional part of Sonde that this call needs is not installed."""

    def __init__(self, what: str, extra: str, more: str = "") -> None:
        way = f"pip install 'sonde[{extra}]'{more}"
        super().__init__(f"{what} needs the optional part {extra!r}: {way}")


class MissingInterface(MissingExtra):
    """A page was asked for where the interface has not been built."""

    def __init__(self) -> None:
        SondeError.__init__(
            self,
            "a page of a run needs the interface, which has not been built here: in the checkout, "
            "with Node 20.19 or newer, `make ui`; wheels have it built in",
        )
