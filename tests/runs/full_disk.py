"""A disk that is full for a while, without root: the kernel's limit on the size of a file.

A write across the limit comes up short, as on a full disk, and the next one fails.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def files_no_larger_than(n_bytes: int) -> Iterator[None]:
    """Inside the block no file grows beyond this."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
