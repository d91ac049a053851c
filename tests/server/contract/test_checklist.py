"""Contract section 15, line by line: one test a line, over HTTP, on a tiny model.

The line on spans has a file of its own, `test_spans`; that on the clients is `tests/client`.
"""

from typing import Any

import httpx
import pytest

from sonde.schema import CLASSIC_HOOKS
from tests.scripted import Scripted
from tests.server.contract import test_order
from tests.server.contract.asking import (
    CLEAN,
    CORRUPT,
    SHORT,
    SOURCE,
    SWEEP,
    Body,
    events_of,
    refused,
    runs,
    summary_of,
    sweep_body,
    table,
    vector_body,
    without,
)
from tests.server.contract.conftest import LAYERS, WIDTH
from tests.server.tiny_server import Served

ALL_LAYERS = list(range(LAYERS))


def test_the_backend_that_was_asked_for_is_the_one_that_answers(
    http: httpx.Client, pytestconfig: pytest.Config
) -> None:
    model = http.get("/v1/capabilities").json()["model"]
    assert model["backend"] == pytestconfig.getoption("--backend")
    assert (model["n_layers"], model["width"]) == (LAYERS, WIDTH)


@pytest.mark.parametrize("hooks", [None, ["post_block"], ["mlp_out", "pre_attn", "mlp_out"]])
def test_the_summary_of_a_stream_is_the_body_and_its_cells_fill_the_grid_each_with_its_hook(
    http: httpx.Client, hooks: list[str] | None
) -> None:
    asked = sweep_body(hooks=hooks, layers=[3, 0], positions="all_prompt", metric="recovered")
    body = summary_of(http, asked)
    start, *cells, summary = events_of(http, asked)
    assert summary.pop("type") == "summary"
    assert without(summary) == without(body)
    axes = ("layers", "positions", "hook", "metric", "auto_captured", "captured_source_run")
    assert {name: start[name] for name in axes} == {name: body[name] for name in axes}
    assert start.get("hooks") == (None if hooks is None else list(dict.fromkeys(hooks)))
    grids = body["hook_grids"] or [{"hook": body["hook"], "grid": body["grid"]}]
    told = {(c["hook"], c["layer"], c["position"]): c["value"] for c in cells}
    assert {cell["type"] for cell in cells} == {"cell"}
    assert len(cells) == len(told) == len(grids) * 2 * 9
    for each in grids:
        for row, layer in enumerate(body["layers"]):
            for column, position in enumerate(body["positions"]):
                assert told[each["hook"], layer, position] == each["grid"][row][column]


def test_hooks_of_one_is_hook_except_hook_grids_and_any_number_of_hooks_runs_the_prompt_twice(
    http: httpx.Client, scripted: tuple[Scripted, Served]
) -> None:
    for hook in CLASSIC_HOOKS:
        one, many = (summary_of(http, sweep_body(**given)) for given in
                     ({"hook": hook}, {"hooks": [hook]}))  # fmt: skip
        assert one["hook_grids"] is None
        assert without(one, "hook_grids") == without(many, "hook_grids")
        (grid,) = many["hook_grids"]
        assert {name: grid[name] for name in ("hook", "grid", "argmax")} == {
            "hook": hook, "grid": one["grid"], "argmax": one["argmax"],
        }  # fmt: skip
    backend, served = scripted
    for hooks in (["post_block"], list(CLASSIC_HOOKS)):
        backend.log.clear()
        backend.scored.clear()
        summary_of(served.http, sweep_body(hooks=hooks))
        baselines = sum(line.startswith("baselines") for line in backend.log)
        reruns = sum(not row.writes for row in backend.scored)
        assert (baselines, reruns) == (1, 1)
        assert backend.log.count("capture clean") == 1


def test_a_missing_run_is_captured_and_gone_or_kept_and_an_existing_one_never_dropped(
    http: httpx.Client,
) -> None:
    first = summary_of(http, sweep_body())
    assert (first["auto_captured"], first["captured_source_run"]) == (True, "clean")
    assert runs(http) == [], "gone when the answer is there"
    kept = summary_of(http, sweep_body(keep_source=True))
    assert kept["auto_captured"]
    assert without(kept) == without(first)
    assert runs(http) == ["clean"]
    other = summary_of(http, sweep_body(hook="mlp_in", clean_prompt=...))
    assert (other["auto_captured"], other["captured_source_run"]) == (False, None)
    again = summary_of(http, sweep_body())
    assert not again["auto_captured"]
    assert again["grid"] == first["grid"]
    assert runs(http) == ["clean"], "a run that was there before stays"
    assert http.delete(f"{SOURCE}/clean").status_code == 200
    assert summary_of(http, sweep_body())["auto_captured"]
    assert runs(http) == []


def test_a_missing_run_without_clean_prompt_is_a_json_400_even_streamed_and_delete_is_200_then_404(
    http: httpx.Client,
) -> None:
    for stream in (False, True):
        body = sweep_body(clean_prompt=..., stream=stream)
        refused(http.post(SWEEP, json=body), 400, "patch source not found")
    summary_of(http, sweep_body(keep_source=True))
    assert http.delete(f"{SOURCE}/clean").json() == {"dropped": True}
    refused(http.delete(f"{SOURCE}/clean"), 404, "not found")


def test_all_rows_of_the_table_in_section_3_are_tested() -> None:
    test_order.test_every_row_of_the_table_is_here()


ALIGNMENTS = {
    # clean, corrupt: prefix, suffix, unaligned
    "[1,2,30,31,4,5] / [1,2,90,4,5]": ("The Eiffel Tower is in", "The Colosseum is in", 2, 2, [2]),
    "[1,5,5,5,9] / [1,5,5,9]": (" the the the of", " the the of", 3, 1, []),
    "[1] / [1,1]": ("", "<|end|>", 1, 0, [1]),
    "same length": ("The Eiffel Tower", " Rome is in", 4, 0, []),
}  # fmt: skip
"""Contract 6.7. The 1 of the examples is the special token that the tokenizer puts first."""


@pytest.mark.parametrize("case", ALIGNMENTS)
def test_the_alignment_examples(http: httpx.Client, case: str) -> None:
    clean, corrupt, prefix, suffix, unaligned = ALIGNMENTS[case]
    body = sweep_body(clean_prompt=clean, prompt=corrupt, positions="all_prompt")
    made = summary_of(http, body)
    alignment = made["alignment"]
    wanted = {"prefix_len": prefix, "suffix_len": suffix, "unaligned_positions": unaligned}
    assert {name: alignment[name] for name in wanted} == wanted
    n_corrupt = alignment["n_corrupt"]
    assert made["positions"] == [p for p in range(n_corrupt) if p not in unaligned]
    assert [each["position"] for each in made["skipped"]] == unaligned
    assert all(each["reason"] for each in made["skipped"])


def test_prompts_that_share_nothing_have_nothing_to_align(plain_http: httpx.Client) -> None:
    """Without a special token in front."""
    body = sweep_body(clean_prompt=" Paris Rome Mary", prompt=" is in", positions="all_prompt")
    refused(plain_http.post(SWEEP, json=body), 400, "no alignable positions")
    assert runs(plain_http) == []


def test_argmax_of_ties_is_the_first_and_of_nulls_null_and_noise_floor_is_a_number(
    http: httpx.Client,
) -> None:
    ties = summary_of(http, sweep_body(alpha=0, layers=[2, 0], positions=[8, 2]))
    assert ties["argmax"] == {"layer": 2, "position": 8, "value": ties["corrupt"]}
    nulls = summary_of(http, sweep_body(metric="recovered", clean_prompt=CORRUPT))
    assert nulls["metric"] == "recovered"
    assert nulls["clean"] == nulls["corrupt"]
    assert nulls["grid"] == [[None] * 3] * 2
    assert nulls["argmax"] is None
    assert any("recovered" in warning for warning in nulls["warnings"])
    for made in (ties, nulls):
        assert f"{made['noise_floor']:.3g}" == "0"


def first_token(http: httpx.Client, ids: list[int], **fields: Any) -> list[float]:
    """Log-probabilities of the first generated token, over `/v1/completions`."""
    asked: Body = {
        "max_tokens": 1, "temperature": 0.0, "logprobs": len(ids), "logprob_token_ids": ids,
    }  # fmt: skip
    answer = http.post("/v1/completions", json=asked | fields)
    assert answer.status_code == 200, answer.text
    top = answer.json()["choices"][0]["logprobs"]["top_logprobs"][0]
    texts = [http.post("/detokenize", json={"tokens": [token]}).json()["prompt"] for token in ids]
    return [top[text] for text in texts]


def token_id(http: httpx.Client, text: str) -> int:
    asked = {"prompt": text, "add_special_tokens": False}
    (token,) = http.post("/tokenize", json=asked).json()["tokens"]
    return int(token)


def test_alpha_0_and_a_self_patch_change_no_bit_and_a_full_replace_gives_the_clean_run(
    http: httpx.Client,
) -> None:
    everywhere = {"hooks": list(CLASSIC_HOOKS), "layers": ALL_LAYERS, "positions": "all_prompt"}
    for fields in ({"alpha": 0}, {"clean_prompt": CORRUPT}):
        made = summary_of(http, sweep_body(**everywhere, **fields))
        values = {v for each in made["hook_grids"] for row in each["grid"] for v in row}
        assert values == {made["corrupt"]}
        assert made["noise_floor"] == 0
        assert all(c["passed"] and c["difference"] == 0 for c in made["controls"])
    clean = summary_of(http, sweep_body(**everywhere, source_run="whole", keep_source=True))[
        "clean"
    ]
    answer = [token_id(http, " Paris")]
    assert first_token(http, answer, prompt=CLEAN) == [clean]
    for layer in ALL_LAYERS:
        patch = [
            {"layer": layer, "hook": "pre_attn", "dest_position": position, "source_run": "whole",
             "source_position": position}
            for position in range(9)
        ]  # fmt: skip
        assert first_token(http, answer, prompt=CORRUPT, patch=patch) == [clean]
    assert http.delete(f"{SOURCE}/whole").status_code == 200


def test_a_zero_ablation_is_exactly_zero(http: httpx.Client) -> None:
    """It is what a row of zeros does; and at a hook that is added back, what a mask of all does."""
    named = summary_of(http, vector_body(hook="mlp_out"))
    packed = table(1, WIDTH, fill=0.0)
    inline = {"source_module": ..., "source_inline": 0, "patch_vectors": packed}
    masked = {"mask": {"indices": list(range(WIDTH))}}
    for fields in (inline, masked, inline | masked):
        assert summary_of(http, vector_body(hook="mlp_out", **fields))["grid"] == named["grid"]
    assert named["argmax"]["value"] != named["corrupt"]


def test_what_the_reference_client_and_dashboard_send_is_accepted_nulls_and_all(
    http: httpx.Client,
) -> None:
    client: Body = {
        "model": "whatever", "prompt": SHORT, "hook": "post_block", "layers": [0, 1],
        "positions": [1, {"span": "city", "occurrence": 0}], "alpha": 1.0, "answer_token": " Paris",
        "foil_token": None, "metric": "logprob", "logprobs": 20, "stream": False,
        "source_run": "walk", "clean_prompt": CLEAN, "clean_baseline": None, "keep_source": False,
    }  # fmt: skip
    made = summary_of(http, client)
    assert made["layers"] == [0, 1]
    dashboard: Body = {
        "prompt": SHORT, "layers": {"start": 0, "stop": LAYERS, "step": 2},
        "positions": "all_prompt", "hooks": ["post_block"], "source_run": "dash-0123456789ab",
        "clean_prompt": CLEAN, "answer_token": " Paris", "metric": "recovered",
    }  # fmt: skip
    assert events_of(http, dashboard)[0]["layers"] == [0, 2]
    ablation: Body = {
        "model": "whatever", "prompt": SHORT, "hook": "post_block", "layers": [0],
        "positions": [1], "alpha": 1.0, "answer_token": " Paris", "foil_token": " Rome",
        "metric": "logit_diff", "logprobs": 20, "stream": True, "source_module": "zeros",
    }  # fmt: skip
    assert len(events_of(http, ablation)) == 3
    assert runs(http) == []
