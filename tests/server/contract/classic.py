"""Requests whose answers stay what they are: `POST /v1/patch_sweep`, and what is around it.

Groups of steps, each in the order in which its own steps need each other, dealt out in turn: what
one leaves behind is there for the others, as on a server that several people use.
"""

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from sonde.schema import CLASSIC_HOOKS
from tests.server.contract.asking import (
    CLEAN,
    CORRUPT,
    LONG,
    SHORT,
    SOURCE,
    SWEEP,
    Body,
    sweep_body,
    vector_body,
)

WIDTH = 128
"""Of the tiny model."""
VECTORS = "/v1/steering/modules"
ALL_LAYERS = {"start": 0, "stop": 4}
WHOLE: Body = {"layers": ALL_LAYERS, "positions": "all_prompt"}
FOIL: Body = {"foil_token": " Rome"}
STORY = 3 * "When Mary and John went to the store, John gave a drink to Mary"
"""Long enough for a grid of several chunks."""
PAIRINGS = ("strict", "first", "last", "proportional", "mean")


@dataclass(frozen=True)
class Step:
    """One request; `{id}` in its path is the id of the sweep that an earlier step made."""

    name: str
    method: str
    path: str
    body: Any = None
    """JSON, or text that is sent as it stands."""
    of: str | None = None
    """The step whose sweep it is about."""
    headers: dict[str, str] = field(default_factory=dict)


def asked(name: str, body: Body) -> Step:
    return Step(name, "POST", SWEEP, body)


def run(name: str, **fields: Any) -> Step:
    """A sweep from a captured run."""
    return asked(name, sweep_body(**fields))


def vector(name: str, **fields: Any) -> Step:
    """A sweep from a vector."""
    return asked(name, vector_body(**fields))


def both(step: Step) -> list[Step]:
    """The same as one body and as a stream."""
    return [step, asked(f"{step.name}, streamed", step.body | {"stream": True})]


def get(name: str, path: str, of: str | None = None, **headers: str) -> Step:
    return Step(name, "GET", path, of=of, headers=headers)


def packed(dtype: str, rows: int = 2, width: int = WIDTH, scale: float = 1.0) -> Body:
    """A table whose numbers all differ, the same ones in every precision as far as it goes."""
    values = (np.arange(rows * width, dtype=np.float64) * 7 % 61 / 30 - 1) * scale
    single = values.astype("<f4")
    if dtype == "float32":
        raw = single.tobytes()
    elif dtype == "float16":
        raw = single.astype("<f2").tobytes()
    else:
        raw = (single.view("<u4") >> 16).astype("<u2").tobytes()
    return {"dtype": dtype, "shape": [rows, width], "data": base64.b64encode(raw).decode()}


def inline(dtype: str = "float32", row: int = 0, **table: Any) -> Body:
    """A row of a table as the source."""
    return {
        "source_module": ..., "source_inline": row, "patch_vectors": packed(dtype, **table),
    }  # fmt: skip


def axes() -> list[Step]:
    """Hooks, layers and positions, in all the ways to write them."""
    span = {"span": "Tower is"}
    return [
        *(run(f"hook {hook}", hook=hook, **WHOLE) for hook in CLASSIC_HOOKS),
        *both(run("all hooks", hooks=list(CLASSIC_HOOKS), **WHOLE)),
        *both(run("hooks twice", hooks=["mlp_out", "pre_attn", "mlp_out"])),
        run("hooks of one wins over hook", hooks=["post_attn"], hook="mlp_in"),
        run("layers in reverse", layers=[3, 2, 1, 0], positions="all_prompt"),
        *both(run("layers twice", layers=[2, 0, 2, 2], hook="mlp_out")),
        run("layers of a range with a step", layers={"start": 1, "stop": 4, "step": 2}),
        run("one layer", layers=[3], positions="all_prompt", hook="pre_attn"),
        run("layers and alpha as text", layers=["1"], alpha="0.5"),
        run("positions in any order, some twice", positions=[8, 2, 8, 0]),
        run("a span of one token", positions=[{"span": "Rome"}]),
        run("a span of several tokens", positions=[span], hook="pre_attn"),
        run("a span that begins inside a token", positions=[{"span": "wer is i"}]),
        run("the second match of a span", positions=[{"span": "i", "occurrence": 1}]),
        *both(run("numbers and spans", positions=[4, span, 3, {"span": " city"}, 0])),
        run("positions left out", positions=..., layers=[1]),
    ]


def gradings() -> list[Step]:
    """Metrics, answers and foils, baselines, names of models."""
    three = ["logprob", "logit_diff", "recovered"]
    alike = {"clean_prompt": CORRUPT, "metric": "recovered"}
    return [
        *(
            step
            for metric in three
            for step in both(run(f"metric {metric}", metric=metric, **FOIL, **WHOLE))
        ),
        run("metrics of one", metrics=["logprob"]),
        *both(run("metrics of three", metrics=three, metric="recovered", **FOIL, **WHOLE)),
        run("metrics and hooks", metrics=three[1:], hooks=["mlp_in", "pre_attn"], **FOIL),
        run("a foil that is not needed", **FOIL),
        run("answer and foil by id", answer_token=..., answer_token_id=7, foil_token_id=300,
            metric="logit_diff"),
        run("an id wins over a text", answer_token="not one token", answer_token_id=280),
        run("an id beyond the vocabulary", answer_token_id=329),
        run("a foil id below 0", foil_token_id=-1),
        *both(run("recovered of equal prompts", **alike)),
        run("recovered of equal prompts beside others", metrics=three, **alike, **FOIL),
        run("a clean baseline that is not needed", clean_baseline=-1.5, metric="recovered"),
        *both(run("another model's name", model="somebody/else")),
        run("the model's own name", model="tiny"),
        run("logprobs given", logprobs=3),
        *(run(f"alpha {alpha}", alpha=alpha, hooks=["post_block", "mlp_out"], **WHOLE)
          for alpha in (0, 0.5, 1, 2, -1)),
        *both(run("alpha 0.25 of a pair's mean", prompt=SHORT, pairing="mean", alpha=0.25)),
    ]  # fmt: skip


def alignments() -> list[Step]:
    """Prompts of equal and unequal length, and positions paired by hand."""
    places: Body = {"layers": [0, 2], "positions": "all_prompt", "metric": "recovered"}
    given: Body = {"prompt": SHORT, "positions": [{"span": "Colosseum"}, 4]}
    return [
        *(run(f"shorter, {pairing}", prompt=SHORT, pairing=pairing, **places)
          for pairing in PAIRINGS),
        *(run(f"longer, {pairing}", clean_prompt=SHORT, pairing=pairing, **places)
          for pairing in PAIRINGS),
        *(run(f"of equal length, {pairing}", pairing=pairing, hook="mlp_out", layers=[1])
          for pairing in ("strict", "mean")),
        *both(run("only what does not align", prompt=SHORT, positions=[2, 3])),
        *both(run("paired by numbers", source_positions=[3, 2], **given)),
        run("paired by a span", source_positions=[{"span": "Eiffel"}, 5], **given),
        run("paired in an equal prompt", source_positions=[7, 3, 2], hook="pre_attn"),
        run("paired with too few", source_positions=[3], **given),
        run("paired beyond the clean prompt", source_positions=[3, 10], **given),
        run("an unknown pairing", pairing="middle"),
        run("a repeated word", clean_prompt=" the the the of", prompt=" the the of", positions=...),
        run("nothing but the special token", clean_prompt="", prompt=" is", positions=[0]),
    ]  # fmt: skip


def stored_runs() -> list[Step]:
    """A run's life: kept, looked at, used, too small for some, dropped."""
    mine: Body = {"source_run": "mine"}
    bare: Body = mine | {"clean_prompt": ...}
    completion = {
        "prompt": CLEAN, "max_tokens": 1, "temperature": 0, "logprobs": 2, "capture_wait": True,
        "capture": {"patch_source": {"run": "part", "hooks": {"mlp_out": [1, 3]},
                                     "positions": [2, 8]}},
    }  # fmt: skip
    return [
        get("no source runs yet", SOURCE),
        run("kept", keep_source=True, **mine),
        get("source runs, one of them kept", SOURCE),
        get("the kept run", f"{SOURCE}/mine"),
        *both(run("from the kept run at another hook", hook="mlp_in", **bare)),
        run("from the kept run, all hooks", hooks=list(CLASSIC_HOOKS), layers=[2, 0],
            positions="all_prompt", **bare),
        run("from the kept run, recovered without a baseline", metric="recovered", **bare),
        *both(run("from the kept run, recovered", metric="recovered", clean_baseline=-2, **bare)),
        run("from the kept run by its prompt", keep_source=True, **mine),
        run("from the kept run by another prompt", clean_prompt=CORRUPT, **mine),
        run("from the kept run by a shorter prompt", clean_prompt=SHORT, **mine),
        run("from the kept run, paired", source_positions=[7, 1, 2], **bare),
        run("from the kept run into a shorter prompt, paired", prompt=SHORT,
            source_positions=[1, 8, 8], **bare),
        *both(run("layers that the kept run lacks", layers=[1], **bare)),
        run("kept by a stream", source_run="other", keep_source=True, layers=[1], stream=True),
        get("source runs, two of them kept", SOURCE),
        Step("dropped", "DELETE", f"{SOURCE}/mine"),
        Step("dropped again", "DELETE", f"{SOURCE}/mine"),
        get("a run that is gone", f"{SOURCE}/mine"),
        *both(run("from a run that is gone", **bare)),
        run("captured anew", metric="logit_diff", **mine, **FOIL),
        Step("the other dropped", "DELETE", f"{SOURCE}/other"),
        Step("captured by a completion", "POST", "/v1/completions", completion),
        get("the completion's run", f"{SOURCE}/part"),
        run("from the completion's run", source_run="part", clean_prompt=..., hook="mlp_out",
            layers=[3, 1], positions=[8, 2]),
        run("a position that it lacks", source_run="part", clean_prompt=..., hook="mlp_out",
            layers=[3, 1]),
        run("a hook that it lacks", source_run="part", clean_prompt=..., layers=[1], positions=[2]),
    ]  # fmt: skip


def vectors() -> list[Step]:
    """Zeros, tables, named vectors, and masks on all of them."""
    named = {
        "name": "push", "scale": 0.5, "patch_vectors": packed("float16", rows=3),
        "vectors": [{"hook": "post_block", "layer": 0, "inline": 2},
                    {"hook": "post_block", "layer": 2, "inline": 0},
                    {"hook": "mlp_out", "layer": 2, "values": [0.125] * WIDTH}],
    }  # fmt: skip
    push: Body = {"source_module": "push"}
    some = {"indices": [0, 5, 127]}
    return [
        *(vector(f"zeros at {hook}", hook=hook, **WHOLE) for hook in ("pre_attn", "mlp_out")),
        *both(vector("several chunks", hooks=["mlp_in", "pre_attn"], prompt=STORY, **WHOLE)),
        *both(vector("zeros at all hooks", hooks=list(CLASSIC_HOOKS), metric="logit_diff", **FOIL)),
        Step("registered", "POST", f"{VECTORS}/register", named),
        Step("registered again", "POST", f"{VECTORS}/register", named),
        get("named vectors", f"{VECTORS}/list"),
        *(vector(f"a row in {dtype}", **inline(dtype, row=1))
          for dtype in ("float32", "float16", "bfloat16")),
        *both(vector("a named vector", alpha=1.5, **push)),
        vector("a named vector at a hook that it lacks", hook="pre_attn", **push),
        vector("a named vector at another hook", hook="mlp_out", layers=[2], **push),
        vector("an unknown vector beside a known one", source_module="pull"),
        vector("some dimensions of zeros", mask=some, **WHOLE),
        run("some dimensions of a run", mask=some, hook="mlp_in", **WHOLE),
        run("a weighted run", mask={"inline": 1}, patch_vectors=packed("float32", scale=0.5)),
        *both(vector("a weighted row", mask={"inline": 1}, alpha=0.5, **inline("bfloat16"))),
        vector("no dimension of zeros", mask={"indices": []}),
        *both(vector("numbers beyond reason", hooks=["post_attn", "mlp_out"], metric="logit_diff",
                     metrics=["logprob"], **inline(scale=3e38), **FOIL, **WHOLE)),
        vector("weights beyond reason", alpha=1e308),
        Step("unregistered", "POST", f"{VECTORS}/unregister", {"name": "push"}),
        Step("unregistered again", "POST", f"{VECTORS}/unregister", {"name": "push"}),
        *both(vector("a name that is gone", **push)),
    ]  # fmt: skip


def refusals() -> list[Step]:
    """Contract section 3, row by row. Row 1 has no cause here, and row 24 takes a broken model."""
    one = {"source_module": ..., "source_inline": 0}
    stored = {"source_run": "stored", "clean_prompt": ...}
    of_runs: list[tuple[int, str, Body]] = [
        (0, "a field that there is not", {"sauce_run": "x"}),
        (0, "no alpha", {"alpha": None}),
        (2, "no answer", {"answer_token": ...}),
        (3, "no foil", {"metric": "logit_diff"}),
        (4, "no hooks", {"hooks": []}),
        (5, "an unknown hook", {"hooks": ["post_block", "attn_out"]}),
        (6, "a layer beyond the model", {"layers": [0, 99]}),
        (7, "no run", {"source_run": None}),
        (14, "two masks", {"mask": {"indices": [0], "inline": 0}}),
        (16, "an answer of two tokens", {"answer_token": " Paris Rome"}),
        (17, "a prompt too long", {"prompt": LONG}),
        (18, "a span that is not there", {"positions": [{"span": "Berlin"}]}),
        (
            18,
            "a second match that is not there",
            {"positions": [{"span": "city", "occurrence": 1}]},
        ),
        (18, "an empty span", {"positions": [{"span": ""}]}),
        (19, "no positions", {"positions": []}),
        (19, "no layers", {"layers": []}),
        (20, "a clean prompt too long", {"clean_prompt": LONG}),
        (21, "nothing to align", {"prompt": SHORT, "positions": [{"span": "Colosseum"}]}),
        (22, "a run of another length", {"prompt": SHORT, **stored}),
        (23, "a run without the layer", {"layers": [1], **stored}),
    ]
    of_vectors: list[tuple[int, str, Body]] = [
        (8, "two vectors", {"source_inline": 0}),
        (9, "a vector and a run", {"source_run": "x"}),
        (10, "a vector and a clean prompt", {"clean_prompt": CLEAN}),
        (11, "a vector and recovered", {"metric": "recovered"}),
        (12, "an unknown vector", {"source_module": "nobody"}),
        (13, "a row of no table", one),
        (14, "a row beyond the table", inline(row=2)),
        (15, "a table too wide", inline(width=WIDTH + 1)),
    ]
    return [
        run("stored", source_run="stored", keep_source=True),
        *(step for row, what, fields in of_runs
          for step in both(run(f"row {row}: {what}", **fields))),
        *(step for row, what, fields in of_vectors
          for step in both(vector(f"row {row}: {what}", **fields))),
        run("a position beyond the prompt", positions=[0, 9]),
        vector("a position below 0", positions=[-1]),
        run("a dotted path", positions=[0, {"span": "Tower", "occurrence": -1}]),
        Step("not JSON", "POST", SWEEP, '{"prompt": '),
        Step("no number", "POST", SWEEP, '{"prompt": "x", "layers": [0], "alpha": NaN}'),
        get("what is left of the refused", SOURCE),
    ]  # fmt: skip


def estimates() -> list[Step]:
    """What sweeps would cost; and what the server says of itself."""
    bodies = {
        "a run": sweep_body(),
        "all of a run": sweep_body(hooks=list(CLASSIC_HOOKS), **WHOLE),
        "an unequal run": sweep_body(prompt=SHORT, pairing="mean", **WHOLE),
        "alpha 0": sweep_body(alpha=0),
        "zeros": vector_body(hook="mlp_out", **WHOLE),
        "a bad layer": sweep_body(layers=[4]),
        "a bad span": sweep_body(positions=[{"span": "Berlin"}], stream=True),
    }
    return [
        get("capabilities", "/v1/capabilities"),
        get("models", "/v1/models"),
        *(Step(f"estimate of {what}", "POST", f"{SWEEP}/estimate", body)
          for what, body in bodies.items()),
        get("capabilities once more", "/v1/capabilities"),
    ]  # fmt: skip


def history() -> list[Step]:
    """What existing clients send, nulls and all, and how their sweeps are come back to."""
    client: Body = {
        "model": "whatever", "prompt": SHORT, "hook": "post_block", "layers": [0, 1],
        "positions": [1, {"span": "city", "occurrence": 0}], "alpha": 1.0, "answer_token": " Paris",
        "foil_token": None, "metric": "logprob", "logprobs": 20, "stream": False,
        "source_run": "walk", "clean_prompt": CLEAN, "clean_baseline": None, "keep_source": False,
    }  # fmt: skip
    dashboard: Body = {
        "prompt": SHORT, "layers": ALL_LAYERS | {"step": 2}, "positions": "all_prompt",
        "hooks": ["post_block", "mlp_out"], "source_run": "dash-0123456789ab", "stream": True,
        "clean_prompt": CLEAN, "answer_token": " Paris", "metric": "recovered",
    }  # fmt: skip
    ablation: Body = {
        "model": "whatever", "prompt": SHORT, "hook": "post_block", "layers": [0],
        "positions": [1], "alpha": 1.0, "answer_token": " Paris", "foil_token": " Rome",
        "metric": "logit_diff", "logprobs": 20, "stream": True,
    } | inline("bfloat16") | {"source_module": None}  # fmt: skip
    metrics: Body = sweep_body(metrics=["logprob", "recovered"], hooks=["mlp_in"])
    made = {"client": client, "dashboard": dashboard, "ablation": ablation, "metrics": metrics}
    one = f"{SWEEP}/{{id}}"
    return [
        *(asked(name, body) for name, body in made.items()),
        *(
            step
            for of in made
            for step in (
                get(f"{of} in the history", one, of),
                get(f"{of} as JSON", f"{one}/export?format=json", of),
                get(f"{of} as CSV", f"{one}/export?format=csv", of),
                get(f"events of {of}", f"{one}/events", of),
            )
        ),
        get("events after the second", f"{one}/events", "dashboard", **{"Last-Event-ID": "2"}),
        get("events after the last", f"{one}/events", "client", **{"Last-Event-ID": "999"}),
        get("events after no number", f"{one}/events", "client", **{"Last-Event-ID": "x"}),
        get("a format that there is not", f"{one}/export?format=xls", "client"),
        Step("stopped too late", "DELETE", one, of="client"),
        get("a sweep that there is not", f"{SWEEP}/{'0' * 32}"),
        get("the last two of the history", f"{SWEEP}?limit=2"),
        get("a page of none", f"{SWEEP}?limit=0"),
    ]


def dealt(groups: Iterable[list[Step]]) -> Iterator[Step]:
    """The first of each group, then the second of each, and so on."""
    for turn in zip_longest(*groups):
        yield from (step for step in turn if step is not None)


STEPS = list(
    dealt(
        [estimates(), stored_runs(), axes(), refusals(), gradings(), history(), vectors(),
         alignments()]
    )
)  # fmt: skip
