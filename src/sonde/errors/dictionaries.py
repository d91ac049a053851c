"""What is wrong with an autoencoder's file."""

from sonde.errors.base import RequestError


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
