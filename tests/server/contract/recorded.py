"""What a server answered to the classic requests, kept to be answered again, byte for byte.

    python -m tests.server.contract.recorded            # what differs now
    python -m tests.server.contract.recorded --write    # the answers of now are the right ones

Seconds, ages, ids, times of day, versions and measured memory differ from run to run; they are
settled before anything is compared. Cells of a stream stay in the order in which they came: on one
thread, as here, it is always the same.

Processors differ in the last bits of floats. The recording says what arithmetic it was made with;
where that of the machine is another, floats may differ a little, and nothing else may.
"""

import hashlib
import json
import lzma
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import torch
from torch import Tensor

from tests.server.contract.classic import STEPS, WIDTH, Step
from tests.server.contract.conftest import LAYERS, tiny_backend
from tests.server.tiny_server import served
from tests.tiny_model import VOCABULARY, tiny_llama

FILE = Path(__file__).with_name("recorded_answers.json.xz")
HEADERS = (
    "content-type", "cache-control", "x-accel-buffering", "content-disposition", "x-sweep-id",
)  # fmt: skip
CLOSE = 1e-4
"""How far floats may be apart where the arithmetic is another, relative for those above 1: about
twice as far as torch's plainest kernels are from its fastest."""
MEMORY = 2**30
"""Enough for chunks of the usual size, on any machine."""


@dataclass(frozen=True)
class Answer:
    """One answer, less what differs from run to run."""

    step: dict[str, Any]
    """The request."""
    status: int
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class Recording:
    """All answers, and what arithmetic they were computed with."""

    arithmetic: str
    answers: list[Answer]

    def write(self) -> None:
        """Put it where `read` finds it."""
        text = json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))
        FILE.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))

    @classmethod
    def read(cls) -> "Recording":
        """The one in the repository."""
        held = json.loads(lzma.decompress(FILE.read_bytes()))
        return cls(held["arithmetic"], [Answer(**answer) for answer in held["answers"]])


def record() -> Recording:
    """The answers of now, from a server of their own."""
    with one_thread(), TemporaryDirectory() as folder:
        backend = tiny_backend(memory_budget=MEMORY)
        with served(backend, Path(folder)) as server:
            names: dict[str, str] = {backend.describe().weights: "<weights>"}
            answers = [answered(server.http, step, names) for step in STEPS]
        return Recording(arithmetic(), answers)


@contextmanager
def one_thread() -> Iterator[None]:
    """With more, the order of cells depends on how many."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def answered(http: httpx.Client, step: Step, names: dict[str, str]) -> Answer:
    """One request, sent; `names` says what to call ids, and learns the sweep's."""
    known = {name: id for id, name in names.items()}
    path = step.path if step.of is None else step.path.format(id=known[f"<{step.of}>"])
    headers = {"Content-Type": "application/json"} if step.body is not None else {}
    text = step.body if isinstance(step.body, str | None) else json.dumps(step.body)
    answer = http.request(step.method, path, content=text, headers=headers | step.headers)
    if "x-sweep-id" in answer.headers and step.of is None:
        names[answer.headers["x-sweep-id"]] = f"<{step.name}>"
    kept = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
    return Answer(
        step=json.loads(json.dumps(asdict(step))),
        status=answer.status_code,
        headers={name: settled(value, names) for name, value in kept.items()},
        body=settled(answer.content.decode(), names),
    )


MEASURED = re.compile(
    r'("(?:\w+_seconds|seconds|cells_per_second|working_bytes|generation|active|created)": ?)'
    r"-?\d[\d.eE+-]*"
)
TIMES = re.compile(r'("(?:created|ended)": ?)"\d{4}-\d\d-\d\dT[^"]*"')
VERSIONS = re.compile(r'"versions": ?\{[^{}]*\}')
VERSION = re.compile(r'(: ?)"[^"]*"')
IDS = re.compile(r"\b[0-9a-f]{32}\b")
HEARTBEAT = re.compile(r"^: heartbeat\n\n", re.MULTILINE)


def settled(text: str, names: Mapping[str, str]) -> str:
    """Text without what differs from run to run; a null in such a place stays null."""
    for id, name in names.items():
        text = text.replace(id, name)
    text = MEASURED.sub(r"\g<1>0", text)
    text = TIMES.sub(r'\1"<time>"', text)
    text = VERSIONS.sub(lambda found: VERSION.sub(r'\1"<version>"', found[0]), text)
    text = IDS.sub(lambda found: found[0] if set(found[0]) == {"0"} else "<id>", text)
    return HEARTBEAT.sub("", text)


def arithmetic() -> str:
    """A digest of what this machine computes from fixed numbers, none of it by Sonde."""
    digest = hashlib.sha256(torch.__version__.encode())
    with one_thread(), torch.inference_mode():
        for made in computed():
            digest.update(made.contiguous().numpy().tobytes())
    return digest.hexdigest()


def computed() -> Iterator[Tensor]:
    """Products of several shapes, the functions that a model is made of, and a whole model."""
    model = tiny_llama(layers=LAYERS, width=WIDTH)
    yield from model.state_dict().values()
    for tokens in (1, 8, 9, 16, 64):
        yield model(torch.arange(tokens)[None] * 31 % VOCABULARY).logits
    weight = fixed(3 * WIDTH, WIDTH)
    for rows in (1, 2, 8, 9, 16, 32, 64, 100, 288):
        values = fixed(rows, WIDTH)
        yield values @ weight.T
        yield from laid_out(values, weight)
        yield torch.bmm(values.view(4, -1, 32), weight[:32].view(4, 32, 32))
        yield values.softmax(-1)
        yield values.logsumexp(-1)
        yield values.square().mean(-1).rsqrt()
        for function in (torch.exp, torch.exp2, torch.cos, torch.sin, torch.nn.functional.silu):
            yield function(values)
        yield values.exp().log()
        heads = values.view(1, 4, -1, 32)
        yield torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)


def laid_out(values: Tensor, weight: Tensor) -> Iterator[Tensor]:
    """The product by a library of its own, which has other kernels, where there is one."""
    if torch.backends.mkldnn.is_available():
        ready = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        yield torch.ops.mkldnn._linear_pointwise(values, ready, None, "none", [], "")


def fixed(rows: int, columns: int) -> Tensor:
    """Numbers between -2 and 2 that every machine agrees on."""
    return (torch.arange(rows * columns) * 7919 % 4001).view(rows, columns) / 1000 - 2


FLOAT = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)(?!\w|\.\d)")


def differences(recorded: list[Answer], now: list[Answer], *, exact: bool) -> list[str]:
    """A line for each answer that is another; `exact` compares floats to the last bit."""
    lines = []
    for was, is_ in zip_longest(recorded, now):
        if was is None or is_ is None:
            lines.append(f"only one of them has {(was or is_).step['name']!r}")
        elif said := _difference(was, is_, exact=exact):
            lines.append(f"{was.step['name']!r}: {said}")
    return lines


def _difference(was: Answer, now: Answer, *, exact: bool) -> str | None:
    for part in ("step", "status", "headers"):
        if getattr(was, part) != getattr(now, part):
            return f"{part} was {getattr(was, part)}, is {getattr(now, part)}"
    if was.body == now.body or (not exact and close(was.body, now.body)):
        return None
    at = next((i for i, (a, b) in enumerate(zip(was.body, now.body)) if a != b), -1)  # noqa: B905
    at = min(len(was.body), len(now.body)) if at < 0 else at
    part_of = slice(max(0, at - 60), at + 60)
    return f"at character {at} was {was.body[part_of]!r}, is {now.body[part_of]!r}"


def close(was: str, now: str) -> bool:
    """Whether texts are the same but for their floats, and those nearly."""
    if FLOAT.split(was) != FLOAT.split(now):
        return False
    pairs = zip(FLOAT.findall(was), FLOAT.findall(now), strict=True)
    return all(
        a == b or abs(float(a) - float(b)) <= CLOSE * max(1.0, abs(float(a))) for a, b in pairs
    )


if __name__ == "__main__":
    made = record()
    if sys.argv[1:] == ["--write"]:
        made.write()
        sys.exit(0)
    held = Recording.read()
    found = differences(held.answers, made.answers, exact=held.arithmetic == made.arithmetic)
    sys.stdout.writelines(f"{line}\n" for line in found)
    sys.exit(bool(found))
