"""Sweeps and completions of every kind, by number: what a crowd of clients sends."""

import base64
from typing import Any

import numpy as np

from sonde.schema import CLASSIC_HOOKS

Body = dict[str, Any]

PLACES = [
    ("The Eiffel Tower is in the city of", "The Colosseum is in the city of", " Paris", " Rome"),
    ("The Colosseum is in the city of", "The Eiffel Tower is in the city of", " Rome", " Paris"),
    (
        "When Mary and John went to the store, John gave a drink to",
        "When Mary and John went to the store, Mary gave a drink to",
        " Mary",
        " John",
    ),
    ("The capital of France is", "The capital of Italy is", " Paris", " Rome"),
    ("The capital of Germany is called", "The capital of Spain is called", " Berlin", " Madrid"),
]
"""Clean prompt, corrupt prompt, answer, foil."""

METRICS = ["logprob", "logit_diff", "recovered"]


def table(seed: int, width: int, rows: int = 2) -> Body:
    """A table of small random vectors, and a row of weights between 0 and 1."""
    draw = np.random.default_rng(seed)
    values = np.concatenate([draw.normal(size=(rows - 1, width)), draw.random((1, width))])
    raw = values.astype("<f4").tobytes()
    return {"dtype": "float32", "shape": [rows, width], "data": base64.b64encode(raw).decode()}


def sweep(number: int, width: int, n_layers: int) -> Body:
    """A small sweep: every fourth from a vector, every third masked, hooks and metrics in turn."""
    clean, corrupt, answer, foil = PLACES[number % len(PLACES)]
    hooks = [CLASSIC_HOOKS[number % 5], CLASSIC_HOOKS[(number + 2) % 5]][: 1 + number % 2]
    body: Body = {
        "prompt": corrupt,
        "layers": [(number * 7) % n_layers, (number * 11 + 3) % n_layers],
        "positions": [1, 2, 4],
        "hooks": hooks,
        "answer_token": answer,
        "foil_token": foil,
        "metric": METRICS[number % 3],
        "alpha": [1.0, 0.5, 1.5][number % 3],
        "stream": number % 2 == 1,
    }
    if number % 4 == 3:
        body |= {"metric": METRICS[number % 2], "patch_vectors": table(number, width)}
        body |= {"source_inline": 0} if number % 8 == 3 else {"source_module": "zeros"}
    else:
        body |= {"clean_prompt": clean, "source_run": f"crowd-{number}"}
    if number % 3 == 2:
        body["mask"] = {"indices": list(range(number % 7, width, 3))}
    return body


WRONG: list[tuple[Body, int, str]] = [
    ({"source_run": "nobody", "clean_prompt": ...}, 400, "'nobody'"),
    ({"answer_token": " Paris Rome"}, 400, "tokens"),
    ({"clean_prompt": " city" * 10_000}, 500, "auto-capture"),
    ({"layers": [0, 1000]}, 400, "layer 1000"),
]
"""What makes a sweep fail, and how."""


def wrong_sweep(number: int, width: int, n_layers: int) -> tuple[Body, int, str]:
    """A sweep that must fail, with its status and a word of its reason."""
    changes, status, says = WRONG[number % len(WRONG)]
    body = sweep(4 * number, width, n_layers) | {"source_run": f"wrong-{number}"} | changes
    return {name: value for name, value in body.items() if value is not ...}, status, says


def completion(number: int, width: int, n_layers: int, run: str) -> Body:
    """A short completion: plain, or patched from a run, from zeros, from a table; some captured.

    `run` holds the first of `PLACES` at every site.
    """
    clean, corrupt, *_ = PLACES[number % len(PLACES)]
    body: Body = {
        "prompt": corrupt, "max_tokens": 1 + number % 2, "temperature": 0, "logprobs": 3,
        "user": f"client {number}",
    }  # fmt: skip
    site: Body = {
        "layer": (number * 5) % n_layers, "hook": CLASSIC_HOOKS[number % 5], "dest_position": 3,
    }  # fmt: skip
    kind = number % 6
    if kind == 1:
        body["patch"] = [site | {"source_run": run, "source_position": 3}]
    elif kind == 2:
        body["patch"] = [site | {"source_module": "zeros", "mask": {"indices": [0, 5, 9]}}]
    elif kind == 3:
        body |= {"patch_vectors": table(number, width)}
        body["patch"] = [site | {"source_inline": 0, "mask": {"inline": 1}, "alpha": 0.7}]
    elif kind == 4:
        body |= {"temperature": 0.8, "seed": number, "top_p": 0.9}
    elif kind == 5:
        wanted = {"run": f"captured-{number}", "hooks": {"post_block": [number % n_layers]}}
        body |= {"prompt": clean, "capture": {"patch_source": wanted}, "capture_wait": True}
    return body
