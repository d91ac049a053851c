"""A file's name is its content."""

import hashlib
from pathlib import Path

from sonde.sae.files.digest import sha256


def test_the_digest_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 300_000)

    assert sha256(tmp_path / "a") == hashlib.sha256(b"x" * 300_000).hexdigest()
