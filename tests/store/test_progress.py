"""How far a sweep over pairs came outlives its writer, until it finishes."""

from pathlib import Path

from sonde.store.progress import Progress
from sonde.store.sweeps import SweepStore
from tests.store.swept import entry, finish


def test_pairs_are_kept_until_the_sweep_finishes(tmp_path: Path) -> None:
    store = SweepStore(tmp_path)
    store.begin(entry("one"))
    assert store.progress("one") is None
    store.keep_request("one", b'{"pairs":[]}')
    store.keep_pair("one", 7, b"seven")
    store.keep_pair("one", 3, b"three")
    store.close()
    store = SweepStore(tmp_path)
    assert store.progress("one") == Progress(b'{"pairs":[]}', [b"three", b"seven"])
    finish(store, "one", state="cancelled", summary=None)
    assert store.progress("one") is not None
    finish(store, "one")
    assert store.progress("one") is None
    store.close()
