"""Every error Sonde raises on purpose.

SondeError
├── RequestError                the caller can fix it
│   ├── BadRequest              a field, alone or with another, makes no sense
│   │   ├── UnknownHook
│   │   ├── HeadOutOfRange
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
│   ├── WeightsChanged          the model was trained while it was swept
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
│   ├── SweepNotFinished        asked for the result of a sweep that has none
│   └── SweepUnderWay           it was to be deleted while it is computed
├── EngineError                 we, or the machine, have to fix it
│   ├── BaselineFailed          the unpatched prompt could not be run
│   ├── CaptureFailed           the clean prompt could not be captured
│   ├── HookNeverFired          a patch that silently did nothing
│   ├── ControlFailed           a control cell differs from the baseline
│   ├── OutOfMemory             the machine had none left for a single cell
│   ├── RecordsLost             a training run whose records the disk did not take
│   ├── AnalyticsFailed         no disk takes what was read of a run
│   ├── EngineLost              what computes has died; nothing will work until a restart
│   ├── WorkersLost             workers of a study die again and again
│   ├── JobCancelled            it was stopped before its end
│   └── ServerStopping          the server takes no more work
├── ServerBusy                  the queue is full; carries retry_after in seconds
├── DataDirectoryError          the directory of finished sweeps cannot be used
│   ├── DataDirectoryInUse      another server has it
│   └── HistoryReadOnly         it may be read, and not changed
└── MissingExtra                an optional part of Sonde is not installed
    └── MissingInterface        the same for the pages, which are built with Node

Each message says what was wrong, with the value, and what to do next.
"""

from sonde.errors.base import (
    EngineError,
    RequestError,
    SondeError,
)
from sonde.errors.dictionaries import (
    BadAutoencoder,
    BadWeights,
    DamagedFile,
    NotSaid,
    UnknownFormat,
    UnsafeFile,
)
from sonde.errors.engine import (
    BaselineFailed,
    CaptureFailed,
    ControlFailed,
    EngineLost,
    HookNeverFired,
    JobCancelled,
    OutOfMemory,
    WorkersLost,
)
from sonde.errors.requests import (
    BadRequest,
    BadVectors,
    HeadOutOfRange,
    LayerOutOfRange,
    NoModel,
    NothingToPatch,
    NotOneToken,
    PositionOutOfRange,
    RequestTooLarge,
    SourceRunDropped,
    SpanNotFound,
    StaleSourceRun,
    UnknownHook,
    UnknownModel,
    UnknownSourceRun,
    UnknownVector,
    VectorsExist,
    WeightsChanged,
)
from sonde.errors.runs import (
    AnalyticsFailed,
    BadReward,
    BadTrainer,
    MissingDictionary,
    RecordsLost,
    ResumeDrift,
    RunExists,
    RunInUse,
    SharedResource,
    UnknownGeneration,
    UnknownRun,
)
from sonde.errors.serving import (
    BadSetting,
    DataDirectoryError,
    DataDirectoryInUse,
    HistoryReadOnly,
    MissingExtra,
    MissingInterface,
    ServerBusy,
    ServerStopping,
    SweepNotFinished,
    SweepUnderWay,
    UnknownSweep,
)

__all__ = [
    "AnalyticsFailed",
    "BadAutoencoder",
    "BadRequest",
    "BadReward",
    "BadSetting",
    "BadTrainer",
    "BadVectors",
    "BadWeights",
    "BaselineFailed",
    "CaptureFailed",
    "ControlFailed",
    "DamagedFile",
    "DataDirectoryError",
    "DataDirectoryInUse",
    "EngineError",
    "EngineLost",
    "HistoryReadOnly",
    "HookNeverFired",
    "JobCancelled",
    "HeadOutOfRange",
    "LayerOutOfRange",
    "MissingDictionary",
    "MissingExtra",
    "MissingInterface",
    "NoModel",
    "NotOneToken",
    "NotSaid",
    "NothingToPatch",
    "OutOfMemory",
    "PositionOutOfRange",
    "RecordsLost",
    "RequestError",
    "RequestTooLarge",
    "ResumeDrift",
    "RunExists",
    "RunInUse",
    "ServerBusy",
    "ServerStopping",
    "SharedResource",
    "SondeError",
    "SourceRunDropped",
    "SpanNotFound",
    "StaleSourceRun",
    "SweepNotFinished",
    "SweepUnderWay",
    "UnknownFormat",
    "UnknownGeneration",
    "UnknownHook",
    "UnknownModel",
    "UnknownRun",
    "UnknownSourceRun",
    "UnknownSweep",
    "UnknownVector",
    "UnsafeFile",
    "VectorsExist",
    "WeightsChanged",
    "WorkersLost",
]
