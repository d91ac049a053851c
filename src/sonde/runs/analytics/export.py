"""A run to take along: its files in a zip, or its lines as Parquet.

The zip unpacks to a run directory that any gateway serves: whole lines of every file as they are
now, no half line at the end, and no weights. A checkpoint's snapshot that is another name of a
segment is left out, and so is what was set aside on resume.

Parquet is for DuckDB, pandas and polars: `records`, `generations`, `metrics` and `health`, one file
each, with the names of the contract.
"""

import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sonde.errors import BadRequest
from sonde.runs.analytics.analysis import RunContents
from sonde.runs.analytics.database import quoted
from sonde.runs.analytics.reading import history
from sonde.runs.files import LineFile, identity_of, open_lines
from sonde.runs.layout import RunLayout
from sonde.runs.listing import checkpoints
from sonde.runs.probes import changed_files

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BLOCK = 2**20
FORMAT = "sonde.run.1"

_RECORDS = """
    SELECT step, token_index, layer AS layer_index, features AS top_feature_indices,
           activations AS top_feature_activations, loss AS reconstruction_loss
"""
_LINES = {
    "generations": """{
        'schema': 'INTEGER', 'run_id': 'VARCHAR', 'step': 'BIGINT', 'generation_id': 'VARCHAR',
        'group_id': 'VARCHAR', 'token_start': 'BIGINT', 'token_end': 'BIGINT',
        'prompt_tokens': 'BIGINT', 'completion_tokens': 'BIGINT', 'truncated': 'BOOLEAN',
        'pass': 'BIGINT', 'prompt_token': 'BIGINT',
        'R': 'DOUBLE', 'R_A': 'DOUBLE', 'R_B': 'DOUBLE', 'R_C': 'DOUBLE', 'R_D': 'DOUBLE',
        'gate': 'BOOLEAN', 'advantage': 'DOUBLE', 'prompt': 'VARCHAR', 'completion': 'VARCHAR'
    }""",
    "metrics": """{
        'iteration': 'BIGINT', 'rewards_mean': 'DOUBLE', 'rewards_std': 'DOUBLE',
        'rewards_min': 'DOUBLE', 'rewards_max': 'DOUBLE', 'advantage_mean': 'DOUBLE',
        'advantage_std': 'DOUBLE', 'r_a_pass_rate': 'DOUBLE', 'n_invalid_compositions': 'BIGINT'
    }""",
    "health": """{
        'step': 'BIGINT', 'time': 'DOUBLE', 'records_written': 'BIGINT',
        'records_dropped': 'BIGINT', 'records_lost': 'BIGINT',
        'sidecar_ms': 'DOUBLE', 'alarms': 'VARCHAR[]',
        'layers': 'STRUCT(layer_index INTEGER, tokens BIGINT, fvu DOUBLE, cosine DOUBLE,
                          l0 DOUBLE, dead_share DOUBLE, input_norm DOUBLE)[]'
    }""",
}
_SELECT = {
    "generations": "SELECT * FROM lines WHERE step IS NOT NULL AND generation_id IS NOT NULL",
    "metrics": "SELECT * FROM lines WHERE iteration IS NOT NULL",
    "health": """
        SELECT * EXCLUDE (layers, layer), unnest(layer)
        FROM (SELECT *, unnest(layers) AS layer FROM lines WHERE step IS NOT NULL)
    """,
}


def to_zip(layout: RunLayout, target: Path, *, replace: bool = False) -> int:
    """Put the files of a run into a zip, under the run's name. -> how many"""
    files = run_files(layout)
    if not files:
        raise BadRequest(
            f"{layout.directory} holds no run; `sonde runs list` shows those there are"
        )
    with _beside(target, replace=replace) as beside, _packing(beside) as archive:
        for path in files:
            _add(archive, path, f"{layout.directory.name}/{path.relative_to(layout.directory)}")
    return len(files)


def run_files(layout: RunLayout) -> list[Path]:
    """The files that make a run, each once."""
    steps = checkpoints(layout)
    records = history(layout)
    known = {identity_of(path) for path in records}
    others = [layout.snapshot(step) for step in steps]
    snapshots = [path for path in others if identity_of(path) not in known]
    companions = [layout.run_info, layout.generations, layout.metrics, layout.health]
    companions += [layout.telemetry, layout.directory / "notes.json"]
    changed = [layout.probes, *changed_files(layout).values()]
    metadata = [layout.metadata(step) for step in steps]
    every = [*companions, *metadata, *records, *snapshots, *changed]
    return [path for path in every if identity_of(path) is not None]


def to_parquet(
    known: RunContents,
    cursor: "DuckDBPyConnection",
    layout: RunLayout,
    target: Path,
    *,
    replace: bool = False,
) -> list[str]:
    """Put a run's lines into a folder of Parquet files. -> their names"""
    companions = {
        "generations": layout.generations,
        "metrics": layout.metrics,
        "health": layout.health,
    }
    with _beside(target, replace=replace) as beside:
        beside.mkdir()
        written = []
        if known.parts:
            each = (f"{_RECORDS} {part.records_from}" for part in known.parts)
            _copy(cursor, " UNION ALL ".join(each), beside / "records.parquet")
            written.append("records.parquet")
        for name, path in companions.items():
            if identity_of(path) is not None and path.stat().st_size:
                cursor.execute(f"""
                    CREATE OR REPLACE TEMP VIEW lines AS
                    FROM read_json({quoted(path)}, format = 'newline_delimited',
                                   ignore_errors = true, columns = {_LINES[name]})
                """)
                _copy(cursor, _SELECT[name], beside / f"{name}.parquet")
                written.append(f"{name}.parquet")
    return written


def to_file(text: str, target: Path, *, replace: bool = False) -> int:
    """Put a page that was made of a run into a file. -> its bytes"""
    with _beside(target, replace=replace) as beside:
        return beside.write_bytes(text.encode())


def _copy(cursor: "DuckDBPyConnection", select: str, path: Path) -> None:
    cursor.execute(f"""
        COPY ({select}) TO {quoted(path)}
        (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{'sonde.format': '{FORMAT}'}})
    """)


def _packing(path: Path) -> zipfile.ZipFile:
    """Packed lightly: lines shrink well, and runs are large."""
    return zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)


def _add(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    """Add a file up to its last whole line; one that is not lines, whole."""
    file = open_lines(path)
    if file is None:
        return
    try:
        end = file.whole_size() if path.suffix == ".jsonl" else file.size
        info = zipfile.ZipInfo.from_file(path, name)
        info.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(info, "w", force_zip64=True) as entry:
            for block in _blocks(file, end):
                entry.write(block)
    finally:
        file.close()


def _blocks(file: LineFile, end: int) -> Iterator[bytes]:
    at = 0
    while at < end and (block := os.pread(file.descriptor, min(BLOCK, end - at), at)):
        yield block
        at += len(block)


@contextmanager
def _beside(target: Path, *, replace: bool) -> Iterator[Path]:
    """A name beside the target, which gets its own once all is well."""
    if target.exists() and not replace:
        raise BadRequest(
            f"{target} is there already; choose another name, or --force to replace it"
        )
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield beside
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        beside.replace(target)
    finally:
        if beside.is_dir():
            shutil.rmtree(beside)
        else:
            beside.unlink(missing_ok=True)
