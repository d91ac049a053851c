"""The client on the default model."""

from pathlib import Path

import pytest

from sonde import Model
from sonde.client import SyncPatchStudy
from sonde.prompts import PAIRS
from sonde.server.serving import assemble, running_server

EIFFEL = PAIRS["eiffel"]


@pytest.mark.slow
def test_cell_by_cell_on_the_server_and_here_give_the_same_bits(
    smollm2: Model, tmp_path: Path
) -> None:
    here = smollm2.sweep(
        clean=EIFFEL.clean, corrupt=EIFFEL.corrupt, answer=EIFFEL.answer, foil=EIFFEL.foil,
        layers=[9, 27], positions=["osse", 8], metric="logit_diff", metrics=["logprob"],
    )  # fmt: skip
    with running_server(assemble(smollm2.backend, tmp_path)) as url:
        study = SyncPatchStudy(model="smollm2", base_url=f"{url}/v1")
        clean = study.capture_clean(
            EIFFEL.clean, run="real", answer_token=EIFFEL.answer, foil_token=EIFFEL.foil
        )
        served, cells = (
            study.sweep_layers_positions(
                EIFFEL.corrupt,
                clean=clean,
                layers=[9, 27],
                positions=["osse", 8],
                answer_token=EIFFEL.answer,
                foil_token=EIFFEL.foil,
                metric="logit_diff",
                server_side=server_side,
            )
            for server_side in (True, False)
        )
        assert study.drop_run("real")
    assert cells.grid == served.grid == here.grids["post_block"].tolist()
    assert cells.positions == served.positions == here.positions == [2, 8]
    assert (cells.clean, cells.corrupt) == (here.clean, here.corrupt)
