"""Many pairs in one sweep: each as it is alone, whatever is beside it, and only once."""

from typing import Any

import numpy as np
import pytest
import torch

from sonde.backends.base import GenerateRequest
from sonde.engine import Limits
from sonde.engine.candidates import exchanged
from sonde.engine.gathered import Gathered
from sonde.engine.pairs import AHEAD
from sonde.engine.tables import check_table, estimate_table, sweep_table
from sonde.errors import BadRequest, HeadOutOfRange, LayerOutOfRange, UnknownHook
from sonde.schema.pair import PromptPair
from sonde.schema.table import (
    SweepRequest,
    Table,
    TableDropped,
    TablePair,
    TableStart,
    TableSummary,
)
from tests.backends.torch.tiny import backend_of
from tests.tiny_model import tiny_llama

BACKEND = backend_of(tiny_llama())
NAMES = ["Eiffel", "Colosseum", "Mary", "John", "store", "drink", "Rome", "city"]
FRAMES = ["The {} is in the Tower of", "When the {} went to the", "The {} went to"]


def pair(name: str, other: str, frame: int = 0, **fields: Any) -> PromptPair:
    given: dict[str, Any] = {
        "clean": FRAMES[frame].format(name),
        "corrupt": FRAMES[frame].format(other),
        "answer": " Paris",
        "foil": " Rome",
        "roles": {"subject": {"clean": f" {name}", "corrupt": f" {other}"}},
        "cluster": f"frame {frame}",
    }
    return PromptPair(**given | fields)


PAIRS = [pair(NAMES[i], NAMES[(i + 3) % 8], i % 3) for i in range(8)]


def asked(pairs: list[PromptPair], **fields: Any) -> SweepRequest:
    plain: dict[str, Any] = {"hooks": ["z"], "metric": "recovered", "drop_wrong": False}
    return SweepRequest(pairs=pairs, **plain | fields)


def whole(request: SweepRequest, **options: Any) -> TableSummary:
    *_, summary = sweep_table(BACKEND, request, **options)
    assert isinstance(summary, TableSummary)
    assert BACKEND.manifests() == {}
    return summary


def array(table: Table, metric: Any = "recovered") -> np.ndarray:
    values = np.array(table.values[metric], dtype=np.float64)
    return values.reshape([len(axis.values) for axis in table.axes])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"hooks": ["post_block", "mlp_out"], "positions": "roles"},
        {"hooks": ["z"], "positions": ["subject_last", "end"], "metrics": ["logprob", "rank"]},
        {"metric": "kl_clean", "hooks": ["post_block"], "positions": "together"},
    ],
)
def test_a_pair_among_many_has_the_bits_it_has_alone_in_any_order(fields: dict[str, Any]) -> None:
    metric = fields.get("metric", "recovered")
    together = whole(asked(PAIRS, **fields))
    backwards = whole(asked(PAIRS[::-1], **fields))
    assert together.dropped == backwards.dropped == []
    for n, one in enumerate(PAIRS):
        alone = whole(asked([one], **fields))
        for a, b, c in zip(together.tables, backwards.tables, alone.tables, strict=True):
            mine = array(c, metric)[0].tobytes()
            assert array(a, metric)[n].tobytes() == mine
            assert array(b, metric)[len(PAIRS) - 1 - n].tobytes() == mine


def test_a_pair_has_the_numbers_of_a_sweep_over_its_prompts() -> None:
    one = PAIRS[1]
    many = whole(asked(PAIRS, hooks=["post_block"], positions="together"))
    fields: dict[str, Any] = {name: getattr(one, name) for name in ("clean", "corrupt", "answer")}
    plain = whole(
        SweepRequest(
            **fields, foil=one.foil, hooks=["post_block"], positions="together", metric="recovered"
        )
    )
    assert array(many.tables[0])[1].tobytes() == array(plain.tables[0]).tobytes()
    assert many.pairs is not None
    assert many.pairs[1].corrupt == plain.corrupt
    assert many.pairs[1].noise_floor == plain.noise_floor == {"recovered": 0.0}


@pytest.mark.parametrize("hooks", [["z"], ["pre_attn", "mlp_out"]])
def test_noising_a_pair_is_denoising_the_pair_exchanged_bit_for_bit(hooks: list[str]) -> None:
    fields: dict[str, Any] = {"hooks": hooks, "positions": ["subject", "end"], "metrics": ["prob"]}
    noised = whole(asked(PAIRS, direction="noise", **fields))
    turned = whole(asked([exchanged(each) for each in PAIRS], **fields))
    both = whole(asked(PAIRS, direction="both", **fields))
    for metric in ("recovered", "prob"):
        for a, b, c in zip(noised.tables, turned.tables, both.tables, strict=True):
            assert array(a, metric).tobytes() == array(b, metric).tobytes()
            assert array(c, metric)[:, 1].tobytes() == array(a, metric).tobytes()
    assert [axis.name for axis in both.tables[0].axes][:2] == ["pair", "direction"]
    assert noised.pairs is not None
    assert both.pairs is not None
    assert [p.clean for p in noised.pairs] == [p.clean for p in both.pairs]


def test_metrics_over_pairs_are_their_formulas_on_the_logits_of_plain_passes() -> None:
    """Every layer patched at the last position of every pair, by a hook of torch's own."""
    model = tiny_llama()
    told = whole(
        asked(
            PAIRS, hooks=["post_block"], positions=["end"],
            metrics=["kl_clean", "kl_corrupt", "rank"],
        )
    )  # fmt: skip

    def logits(tokens: list[int], layer: int | None = None, value: Any = None) -> np.ndarray:
        def write(_module: Any, _given: Any, output: Any) -> Any:
            first = output if isinstance(output, torch.Tensor) else output[0]
            seen.append(first[0, -1].clone())
            if value is not None:
                first[0, -1] = value
            return output

        seen.clear()
        hooked = [model.model.layers[layer]] if layer is not None else []
        handles = [each.register_forward_hook(write) for each in hooked]
        with torch.inference_mode():
            found = model(torch.tensor([tokens]), use_cache=False).logits[0, -1].double().numpy()
        for handle in handles:
            handle.remove()
        return np.asarray(found)

    def logprobs(of: np.ndarray) -> np.ndarray:
        return of - np.log(np.exp(of - of.max()).sum()) - of.max()

    seen: list[Any] = []
    depth = len(model.model.layers)
    for n, one in enumerate(PAIRS):
        clean, corrupt = (BACKEND.tokenize(str(each)) for each in (one.clean, one.corrupt))
        answer, foil = (BACKEND.tokenize(str(w), special=False)[0] for w in (one.answer, one.foil))
        best, zero = logits(clean), logits(corrupt)
        for layer in range(depth):
            logits(clean, layer)
            row = logits(corrupt, layer, seen[0].clone())
            gap = (best[answer] - best[foil]) - (zero[answer] - zero[foil])
            moved = (row[answer] - row[foil]) - (zero[answer] - zero[foil])
            expected = {
                "recovered": moved / gap,
                "kl_clean": np.sum(np.exp(logprobs(best)) * (logprobs(best) - logprobs(row))),
                "kl_corrupt": np.sum(np.exp(logprobs(zero)) * (logprobs(zero) - logprobs(row))),
                "rank": float(np.sum(row > row[answer])),
            }
            for metric, value in expected.items():
                found = array(told.tables[0], metric)[n, layer].item()
                near = 1e-5 / abs(gap) if metric == "recovered" else 1e-6  # float32's own logits
                assert found == pytest.approx(value, abs=near), metric


def test_recovered_is_the_same_share_when_answer_and_foil_change_places() -> None:
    changed = [each.model_copy(update={"answer": " Rome", "foil": " Paris"}) for each in PAIRS]
    a, b = whole(asked(PAIRS)), whole(asked(changed))
    assert array(a.tables[0]).tobytes() == array(b.tables[0]).tobytes()


def test_prompts_of_different_length_share_a_table_by_roles() -> None:
    longer = pair("Eiffel Tower", "Rome", 1)
    request = asked([*PAIRS[:3], longer], hooks=["post_block"], pairing="mean")
    found = whole(request)
    [table] = found.tables
    assert table.axes[-1].name == "role"
    assert table.axes[-1].values == ["subject", "end"]
    assert not np.isnan(array(table)).any()
    assert found.pairs is not None
    tokens = found.pairs[3].tokens
    assert [tokens.prompt[p].strip() for p in found.pairs[3].roles["subject"]] == ["Rome"]


def test_positions_count_from_either_end_where_prompts_have_several_lengths() -> None:
    found = whole(asked(PAIRS[:3], hooks=["post_block"], positions="each"))
    values = found.tables[0].axes[-1].values
    assert values[0] == 0
    assert values[-1] == -1
    assert any("counted from both ends" in warning for warning in found.warnings)


def test_what_is_wrong_with_a_pair_is_said_and_the_others_are_swept() -> None:
    pairs = [
        PAIRS[0],
        PAIRS[0],
        pair("Mary", "Mary"),
        pair("Rome", "John", roles={}),
        pair("Rome", "city", roles={"subject": " Berlin"}),
        pair("Rome", "store", answer=" Paris is"),
        pair("Rome", "store", answer=10**6),
        pair("Rome", "Mary", clean=[5, 10**6]),
        PAIRS[3],
    ]
    found = whole(asked(pairs, positions=["subject"], one_token=True))
    assert found.pairs is not None
    assert [record.pair for record in found.pairs] == [0, 8]
    reasons = {each.pair: each.reason for each in found.dropped or []}
    assert reasons[1] == "the same as pair 0"
    assert "are the same" in reasons[2]
    assert "no role 'subject'" in reasons[3]
    assert "' Berlin' is not in the clean prompt" in reasons[4]
    assert "2 tokens, ' Paris| is', and one is asked" in reasons[5]
    assert "outside the vocabulary" in reasons[6]
    assert "outside the vocabulary" in reasons[7]


def likeliest(text: Any) -> int:
    [token] = BACKEND.generate(GenerateRequest(tuple(BACKEND.tokenize(text)), max_tokens=1))
    return token.token


def test_pairs_that_the_model_gets_wrong_are_dropped_unless_asked_for() -> None:
    right = next(each for each in PAIRS if likeliest(each.clean) != likeliest(each.corrupt))
    ends = {"answer": likeliest(right.clean), "foil": likeliest(right.corrupt)}
    right = right.model_copy(update=ends)
    wrong = exchanged(right)
    events = list(sweep_table(BACKEND, asked([right, wrong], drop_wrong=True)))
    summary = events[-1]
    assert isinstance(summary, TableSummary)
    assert [record.pair for record in summary.pairs or []] == [0]
    [dropped] = [event.dropped for event in events if isinstance(event, TableDropped)]
    assert dropped.pair == 1
    assert "wrong on clean: answer - foil is -" in dropped.reason
    assert len(whole(asked([right, wrong])).pairs or []) == 2


def test_a_sweep_that_is_left_without_a_pair_is_an_error_with_their_reasons() -> None:
    wrong = next(
        pair for pair, record in zip(PAIRS, whole(asked(PAIRS)).pairs or [], strict=True)
        if (record.clean["recovered"] or 0) <= 0
    )  # fmt: skip
    with pytest.raises(BadRequest, match="all 1 pairs were dropped: pair 0: wrong on clean"):
        whole(asked([wrong], drop_wrong=True))


def test_every_pair_is_one_event_and_means_run_along() -> None:
    start, *pairs, summary = sweep_table(BACKEND, asked(PAIRS))
    assert isinstance(start, TableStart)
    assert start.cells == len(PAIRS) * 2 * 4
    assert isinstance(summary, TableSummary)
    assert all(isinstance(event, TablePair) for event in pairs)
    last = pairs[-1]
    assert isinstance(last, TablePair)
    values = array(summary.tables[0]).reshape(len(PAIRS), -1)
    assert summary.pairs is not None
    gaps = [(r.clean["recovered"] or 0) - (r.corrupt["recovered"] or 0) for r in summary.pairs]
    expected = (np.array(gaps)[:, None] * values).sum(0) / sum(gaps)
    np.testing.assert_allclose(np.array(last.means[0], dtype=float), expected, rtol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 5, 8])
def test_what_is_done_is_not_run_again_and_the_table_is_the_same(n: int) -> None:
    first = list(sweep_table(BACKEND, asked(PAIRS)))
    done = [event for event in first if isinstance(event, TablePair)][:n]
    rest = list(sweep_table(BACKEND, asked(PAIRS), done=done))
    a, b = first[-1], rest[-1]
    assert isinstance(a, TableSummary)
    assert isinstance(b, TableSummary)
    assert (a.tables, a.pairs, a.corrupt) == (b.tables, b.pairs, b.corrupt)
    assert b.timing.computed_cells == a.timing.computed_cells * (len(PAIRS) - n) // len(PAIRS)


def test_a_pair_is_dropped_from_memory_when_it_is_done() -> None:
    words = [f"{a} {b}" for a in NAMES for b in NAMES]
    pairs = [pair(words[i], words[(i + 9) % 64]) for i in range(0, 64)]
    most = 0
    for _ in sweep_table(BACKEND, asked(pairs, hooks=["post_block"])):
        most = max(most, len(BACKEND.manifests()))
    assert 0 < most < 2 * 64
    assert AHEAD > 0
    assert BACKEND.manifests() == {}


def test_a_sweep_that_is_left_drops_what_it_captured() -> None:
    running = sweep_table(BACKEND, asked(PAIRS))
    next(running)
    next(running)
    running.close()  # type: ignore[attr-defined]
    assert BACKEND.manifests() == {}


def test_an_estimate_counts_every_cell_and_runs_none() -> None:
    found = estimate_table(BACKEND, asked(PAIRS))
    assert found.cells == len(PAIRS) * 8
    assert found.computed_cells > 0
    assert BACKEND.manifests() == {}


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"hooks": ["attn"]}, UnknownHook, "'attn'"),
        ({"layers": [2]}, LayerOutOfRange, "layer 2"),
        ({"heads": [9]}, HeadOutOfRange, "head 9"),
        ({"corrupt": "x"}, BadRequest, "corrupt does not go with `pairs`"),
        ({"positions": ["verb"]}, BadRequest, "none of 8 pairs can be swept: pair 0: it has no"),
        ({"pairs": PAIRS * 2}, BadRequest, "at most 10 are admitted"),
        ({"hooks": ["post_block"], "layers": [0, 1] * 9}, BadRequest, "at most 200 are admitted"),
    ],
)
def test_what_is_wrong_with_a_request_is_said_before_anything_runs(
    fields: dict[str, Any], error: type[Exception], message: str
) -> None:
    request = asked(**{"pairs": PAIRS} | fields)
    with pytest.raises(error, match=message):
        check_table(BACKEND, request, limits=Limits(pairs=10, cells=200))


def test_a_request_is_about_one_prompt_or_about_pairs() -> None:
    with pytest.raises(BadRequest, match="needs `corrupt` and `answer`, or `pairs`"):
        check_table(BACKEND, SweepRequest(hooks=["z"]))
    with pytest.raises(BadRequest, match="is a role of `pairs`"):
        check_table(BACKEND, SweepRequest(corrupt="a", clean="b", answer="c", positions=["end"]))


def test_many_pairs_gather_by_number_whatever_finishes_first() -> None:
    from sonde.engine.candidates import candidates

    gathered = Gathered(candidates(BACKEND, asked(PAIRS), Limits()))
    events = [e for e in sweep_table(BACKEND, asked(PAIRS)) if isinstance(e, TablePair)]
    for event in events[::-1]:
        gathered.take_over(event)
    assert gathered.known == set(range(8))
    assert sorted(gathered.records) == list(range(8))
