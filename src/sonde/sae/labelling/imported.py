"""Labels that others wrote: exports of Neuronpedia and results of Delphi. Imports no torch.

- **Neuronpedia**  JSON lines or a JSON value, compressed or not: lines of `explanations/` have an
  index and a description, those of `explanation-scores/` and a feature's own page also scores.
- **Delphi**       the folder of a run, with `explanations/` and `scores/detection/`, one file of
  JSON a feature. Its score is counted here from what each snippet was taken for: balanced accuracy.

Kept is what somebody measured between 0 and 1. An explanation without a score is counted and left
out: those who want it have it scored. Of several for a feature, the one that is scored best is
kept, detection before any other measure.
"""

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from sonde.errors import BadRequest
from sonde.schema.feature import Label

MOST_BYTES: Final = 2**28
"""Of one file, unpacked."""
DETECTION: Final = {"eleuther_recall", "eleuther_detection", "delphi_detection", "detection"}
"""What balanced accuracy of detection is called in exports."""
LATENT: Final = re.compile(r"latent_?(\d+)$")


@dataclass(frozen=True)
class Imported:
    """What a file or folder held."""

    labels: dict[int, Label]
    unscored: int
    """Features that have explanations, and no score of any."""


def import_labels(path: Path) -> Imported:
    """Labels from an export of Neuronpedia or a folder of Delphi's."""
    if not path.exists():
        raise BadRequest(f"there is no {path}; give an export of Neuronpedia or Delphi's folder")
    if (path / "explanations").is_dir() and (path / "scores").is_dir():
        candidates = list(_delphi(path))
    else:
        candidates = [label for file in _files(path) for label in _neuronpedia(file)]
    if not candidates:
        raise BadRequest(
            f"{path} holds no explanations; expected an export of Neuronpedia (index and "
            "description), or a folder of Delphi's with explanations and scores/detection"
        )
    best: dict[int, Label] = {}
    for feature, label in candidates:
        if label is not None and (feature not in best or _rank(label) > _rank(best[feature])):
            best[feature] = label
    return Imported(best, len({feature for feature, _ in candidates} - set(best)))


Candidate = tuple[int, Label | None]


def _rank(label: Label) -> tuple[bool, float]:
    return label.measure == "detection", label.score or 0.0


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    endings = (".json", ".jsonl", ".json.gz", ".jsonl.gz")
    return sorted(file for file in path.rglob("*") if file.name.endswith(endings))


def _neuronpedia(file: Path) -> Iterator[Candidate]:
    for entry in _entries(file):
        held = entry.get("explanations")
        for each in held if isinstance(held, list) else [entry]:
            if isinstance(each, dict) and isinstance(text := each.get("description"), str):
                feature = _whole(each.get("index", entry.get("index")), file)
                yield feature, _of_neuronpedia(text, each)


def _of_neuronpedia(text: str, entry: Mapping[str, Any]) -> Label | None:
    by = " ".join(str(entry[key]) for key in ("explanationModelName", "typeName") if entry.get(key))
    source = f"Neuronpedia: {by}" if by else "Neuronpedia"
    scores = entry.get("scores")
    made = [
        _label(
            text,
            source,
            score.get("value"),
            str(score.get("explanationScoreTypeName") or "score"),
            score.get("explanationScoreModelName"),
        )
        for score in (scores if isinstance(scores, list) else [])
        if isinstance(score, dict)
    ]
    return max((label for label in made if label is not None), key=_rank, default=None)


def _delphi(folder: Path) -> Iterator[Candidate]:
    for file in sorted((folder / "explanations").iterdir()):
        found = LATENT.search(file.stem)
        if not file.is_file() or found is None:
            continue
        text = _json(file)
        text = text.get("explanation") if isinstance(text, dict) else text
        if not isinstance(text, str) or not text.strip():
            raise BadRequest(f"{file} holds no explanation; expected a JSON string")
        scored = folder / "scores" / "detection" / file.name
        score, n = _detection(scored) if scored.is_file() else (None, None)
        yield int(found[1]), _label(text, "Delphi", score, "detection", None, n)


def _detection(file: Path) -> tuple[float | None, int]:
    """Balanced accuracy over snippets that were judged; None where one side has none."""
    held = _json(file)
    if not isinstance(held, list) or not all(isinstance(each, dict) for each in held):
        raise BadRequest(f"{file} holds no list of judged snippets")
    judged = [
        (bool(each["activating"]), bool(each["prediction"]))
        for each in held
        if each.get("activating") is not None and each.get("prediction") is not None
    ]
    return balanced(judged), len(judged)


def balanced(judged: Sequence[tuple[bool, bool]]) -> float | None:
    """Of what is so and what was said: the mean of how often a yes and a no were found."""
    yes = [said for so, said in judged if so]
    no = [not said for so, said in judged if not so]
    return (sum(yes) / len(yes) + sum(no) / len(no)) / 2 if yes and no else None


def _label(
    text: str, source: str, score: Any, measure: str, scorer: Any, examples: int | None = None
) -> Label | None:
    """None where there is no score from 0 to 1."""
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        return None
    try:
        return Label(
            text=text.strip()[:1000],
            source=source[:200],
            score=float(score),
            measure="detection" if measure in DETECTION else measure[:200],
            scorer=str(scorer)[:200] if scorer else None,
            examples=examples,
        )
    except ValidationError:
        return None  # an empty text


def _entries(file: Path) -> Iterator[dict[str, Any]]:
    """JSON lines, or one JSON value, which may be a list."""
    content = _content(file)
    try:
        whole = json.loads(content)
        values = whole if isinstance(whole, list) else [whole]
    except ValueError:
        lines = (line for line in content.splitlines() if line.strip())
        values = [_parsed(line, file) for line in lines]
    for value in values:
        if not isinstance(value, dict):
            raise BadRequest(f"{file} holds {str(value)[:40]!r}; expected objects")
        yield value


def _json(file: Path) -> Any:
    return _parsed(_content(file), file)


def _parsed(content: bytes, file: Path) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"{file} is not JSON ({error})") from error


def _content(file: Path) -> bytes:
    """What a file holds, unpacked, unless it is more than anybody's labels."""
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            content: bytes = stream.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadRequest(f"cannot read {file}: {error}") from error
    if len(content) > MOST_BYTES:
        raise BadRequest(f"{file} holds more than {MOST_BYTES:,} bytes; split it")
    return content


def _whole(value: Any, file: Path) -> int:
    text = str(value)
    if not text.isascii() or not text.isdecimal():
        raise BadRequest(f"{file} has a feature with index {value!r}; expected a number")
    return int(text)
