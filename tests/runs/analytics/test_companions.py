import os
from pathlib import Path

from sonde.runs.analytics.companions import Companion
from sonde.runs.analytics.steplines import MetricsLine


def values(found: tuple[bool, list[object]]) -> list[int]:
    return [line.value.iteration for line in found[1]]  # type: ignore[attr-defined]


def test_lines_come_once_and_half_lines_wait(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    file = Companion(path, MetricsLine)
    assert file.advance() == (False, [])
    assert not file.there
    path.write_text('{"iteration":1}\n{"iteration":2,"other":[1]}\n{"iter')
    assert values(file.advance()) == [1, 2]  # type: ignore[arg-type]
    with path.open("a") as more:
        more.write('ation":3}\n')
    void, (line,) = file.advance()
    assert (void, line.value.iteration, line.length) == (False, 3, len('{"iteration":3}'))
    with path.open("rb") as whole:
        whole.seek(line.start)
        assert whole.read(line.length) == b'{"iteration":3}'


def test_lines_of_another_kind_are_withheld(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    path.write_text('{"iteration":"x"}\nnonsense\n\n{"iteration":NaN}\n{"iteration":4}\n')
    file = Companion(path, MetricsLine)
    assert values(file.advance()) == [4]  # type: ignore[arg-type]
    assert file.withheld == 3


def test_what_was_read_before_is_void_when_the_file_was_cut_or_replaced(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    path.write_text('{"iteration":1}\n{"iteration":2}\n')
    file = Companion(path, MetricsLine)
    file.advance()
    os.truncate(path, 16)
    with path.open("a") as more:
        more.write('{"iteration":7}\n{"iteration":8}\n')
    void, lines = file.advance()
    assert (void, [line.value.iteration for line in lines]) == (True, [1, 7, 8])
    path.unlink()
    assert file.advance() == (True, [])
    assert file.advance() == (False, [])
