"""What keeps a server, or this installation, from doing its work."""

from sonde.errors.base import EngineError, RequestError, SondeError


class BadSetting(RequestError):
    """A value from the configuration, the environment or a flag that cannot be used."""

    def __init__(self, key: str, value: object, origin: str, expected: str) -> None:
        super().__init__(f"{key} = {str(value)[:200]!r} (from {origin}) is not {expected}")


class UnknownSweep(RequestError):
    """A sweep id that the history does not hold."""

    def __init__(self, sweep: str, route: str = "/v1/patch_sweep") -> None:
        super().__init__(f"no sweep {sweep[:64]!r} in the history; GET {route} lists them")


class SweepNotFinished(RequestError):
    """A sweep that has no result, or none yet."""

    def __init__(self, sweep: str, state: str, route: str = "/v1/patch_sweep") -> None:
        under_way = state in ("waiting", "running")
        way = f"GET {route}/{sweep}/events follows it" if under_way else "send it again"
        super().__init__(f"sweep {sweep!r} is {state}: it has no result to show; {way}")


class SweepUnderWay(RequestError):
    """A sweep that was to be deleted while it is computed."""

    def __init__(self, sweep: str, state: str) -> None:
        super().__init__(
            f"sweep {sweep!r} is {state}; DELETE /v1/sweeps/{sweep} cancels it, "
            "and then it can be deleted from the history"
        )


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


class HistoryReadOnly(DataDirectoryError):
    """A history that this process may read and not change."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"this server shows the history in {path!r} and cannot change it: {reason}. "
            "Start it as a user who may write there, or ask the server that writes it"
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
