"""The three at the top of the tree: anything, what the caller can fix, what we have to."""


class SondeError(Exception):
    """Anything Sonde raises on purpose."""


class RequestError(SondeError):
    """The caller asked for something that cannot be done as asked."""


class EngineError(SondeError):
    """Something went wrong on our side of the line."""
