import os
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.errors import RunInUse
from sonde.runs.lock import WriterLock, holder


def test_a_second_writer_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path)
    with pytest.raises(RunInUse, match=f"process {os.getpid()} on "):
        WriterLock(tmp_path)
    assert holder(tmp_path) is not None
    lock.release()
    assert holder(tmp_path) is None
    WriterLock(tmp_path).release()


def test_nobody_holds_a_directory_that_was_never_locked(tmp_path: Path) -> None:
    assert holder(tmp_path) is None


def test_a_killed_writer_holds_nothing(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from sonde.runs.lock import WriterLock\n"
        "lock = WriterLock(Path(sys.argv[1]))\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)])
    assert done.returncode == -9
    WriterLock(tmp_path).release()


def test_a_forked_child_does_not_keep_the_lock_of_its_parent(tmp_path: Path) -> None:
    """Like a data loader's worker that outlives a killed trainer."""
    program = (
        "import os, sys\nfrom pathlib import Path\n"
        "from sonde.runs.lock import WriterLock\n"
        "lock = WriterLock(Path(sys.argv[1]))\n"
        "ready, tell = os.pipe()\n"
        "if os.fork() == 0:\n    os.write(tell, b'!')\n    sys.stdin.read()\n    os._exit(0)\n"
        "os.read(ready, 1)\nos._exit(0)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
    ) as parent:
        assert parent.wait() == 0  # the child still waits for its input
        WriterLock(tmp_path).release()
        assert parent.stdin is not None
        parent.stdin.close()
