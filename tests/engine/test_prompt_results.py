"""A cell is told when every variant of its prompt has it, and proofs end a trial."""

from contextlib import ExitStack

from sonde.engine.plan import Limits
from sonde.engine.prompt_results import PromptResults
from sonde.engine.setting import grades, set_up
from sonde.engine.sites import site_cells
from sonde.engine.trial import CellScore, run
from sonde.schema.table import SweepRequest
from tests.scripted import Scripted


def test_a_cell_waits_for_all_beginnings_of_the_answer() -> None:
    backend = Scripted()
    request = SweepRequest(
        corrupt="The Colosseum is",
        clean="The Eiffel is",
        answer=[" Paris is", " Rome"],
        positions="together",
    )
    with ExitStack() as cleanup:
        setting = set_up(backend, request, Limits(), cleanup)
        graded, zeros = grades(setting)
        told = PromptResults(setting, graded, site_cells(setting), zeros)
        assert len(told.trials) == len(setting.question.variants) > 1
        scores = [score for some in run(backend, told.trials) for score in some]
        assert all(trial.proven for trial in told.trials)
        waited: dict[tuple[int, int], list[CellScore]] = {}
        for score in scores:
            assert not told.over
            seen = waited.setdefault((score.panel, score.cell), [])
            seen.append(score)
            whole = len(seen) == len(told.trials)
            assert told.take(score) == ((score.panel, score.cell) if whole else None)
        assert told.over
        assert None not in told.values[0]["logprob"]
