"""`RUN@checkpoint-N` is read one way, and refused with the checkpoints there are."""

from pathlib import Path

import pytest

from sonde.errors import UnknownModel
from sonde.runs.checkpoint_name import CheckpointName
from sonde.runs.layout import RunLayout


@pytest.mark.parametrize("name", ["one@checkpoint-20", "runs/one@checkpoint-0", "a@b@checkpoint-7"])
def test_a_name_is_a_run_and_a_step_and_written_as_it_was_read(name: str) -> None:
    found = CheckpointName.parse(name)
    assert found is not None
    assert str(found) == name
    assert (found.run, str(found.step)) == tuple(name.rsplit("@checkpoint-", 1))


@pytest.mark.parametrize(
    "name", ["one", "@checkpoint-20", "one@checkpoint-", "one@checkpoint-020", "one@checkpoint-2x"]
)
def test_other_forms_are_other_names(name: str) -> None:
    assert CheckpointName.parse(name) is None


def test_it_is_a_folder_of_its_run_or_refused_with_those_there_are(tmp_path: Path) -> None:
    for step in (20, 40):
        (tmp_path / f"checkpoint-{step}").mkdir()
    layout = RunLayout(tmp_path)
    assert CheckpointName("one", 20).within(layout) == tmp_path / "checkpoint-20"
    with pytest.raises(UnknownModel, match="no checkpoint-30; it has checkpoints of steps 20, 40"):
        CheckpointName("one", 30).within(layout)
    with pytest.raises(UnknownModel, match="it has none"):
        CheckpointName("one", 30).within(RunLayout(tmp_path / "checkpoint-20"))
