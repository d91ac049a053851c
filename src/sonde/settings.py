"""Where things are and who may reach them: a HOCON file, then the environment, then flags.

    load_settings(environ=os.environ).p5.output_dir
    load_settings(Path("sonde.conf"), flags={"aegir.gateway.port": 9000}).gateway.port

The later wins. The keys (`aegir.p5…`) are those of existing configurations, which work unchanged:
keys that are not ours are left alone. A variable is `SONDE_…`; the name that existing installations
set (`AEGIR_…`) is another name of it, and the two may not disagree. Trainer and gateway get the
same values by construction, because one object holds both.

Not a place for what belongs to one command: a sweep's options, a model's name, a key.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sonde.errors import BadSetting
from sonde.runs.layout import LIVE_NAME, LOG_NAME, METADATA_NAME, RunLayout

CONFIG_VARIABLES = ("SONDE_CONFIG", "AEGIR_CONFIG")
"""Either names the file where no flag does."""

CONFIG_NAMES = ("sonde.conf", "aegir.conf")
"""Read from the working directory where neither says otherwise: the first of them that is there."""


@dataclass(frozen=True)
class P5Cfg:
    """Where a gateway finds runs, and what their files are called."""

    output_dir: Path = Path("runs")
    sae_log_filename: str = LOG_NAME
    sae_live_log_filename: str = LIVE_NAME
    metadata_filename: str = METADATA_NAME

    def layout(self, directory: Path | None = None) -> RunLayout:
        """The files of the run in `output_dir`, or in another directory."""
        return RunLayout(
            directory or self.output_dir,
            self.sae_log_filename,
            self.sae_live_log_filename,
            self.metadata_filename,
        )


@dataclass(frozen=True)
class CheckpointConfig(P5Cfg):
    """The same for a trainer, and how often it writes."""

    sae_live_spill_every_n_steps: int = 1
    save_steps: int = 50
    save_total_limit: int = 3


@dataclass(frozen=True)
class GatewayCfg:
    """Where the gateway listens."""

    host: str = "127.0.0.1"
    port: int = 8091


@dataclass(frozen=True)
class Settings:
    """All of it, read once and passed on."""

    gateway: GatewayCfg
    p5: P5Cfg
    checkpoint: CheckpointConfig
    origins: Mapping[str, str] = field(default_factory=dict)
    """Which file, variable or flag each key came from; keys that have their default are absent."""


@dataclass(frozen=True)
class Setting:
    """One key: where else it can come from, and what makes a value of it."""

    key: str
    read: Callable[[Any], Any]
    expected: str
    variables: tuple[str, ...] = ()
    """Ours first, then what existing installations call it."""


def load_settings(
    config: Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    flags: Mapping[str, object] | None = None,
    directory: Path | None = None,
) -> Settings:
    """Read everything once. Flags are by key, and None means that one was not given.

    `config` is an error when it is not there; `sonde.conf` or `aegir.conf` in `directory` (the
    working directory) is read when it is.
    """
    filed = _file(config, environ, directory or Path())
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        found = _last(setting, filed, environ, flags or {})
        if found is not None:
            value, origins[setting.key] = found
            values[setting.key] = _checked(setting, value, origins[setting.key])
    p5 = _named(values, "aegir.p5.")
    p5_only = {name: value for name, value in p5.items() if name in P5Cfg.__dataclass_fields__}
    return Settings(
        gateway=GatewayCfg(**_named(values, "aegir.gateway.")),
        p5=P5Cfg(**p5_only),
        checkpoint=CheckpointConfig(**p5),
        origins=origins,
    )


def _named(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {
        key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)
    }


def _last(
    setting: Setting,
    filed: tuple[Mapping[str, Any], str],
    environ: Mapping[str, str],
    flags: Mapping[str, object],
) -> tuple[object, str] | None:
    """The value that wins and where it is from; None for the default."""
    if flags.get(setting.key) is not None:
        return flags[setting.key], f"the flag --{setting.key.rpartition('.')[2].replace('_', '-')}"
    if variable := set_variable(environ, *setting.variables):
        return environ[variable], f"the variable {variable}"
    tree, path = filed
    value: Any = tree
    for part in setting.key.split("."):
        if not isinstance(value, Mapping):
            raise BadSetting(setting.key, value, path, "a section with keys of its own")
        value = value.get(part)
        if value is None:
            return None
    return value, path


def set_variable(environ: Mapping[str, str], *names: str) -> str | None:
    """Which of a variable's names is set: ours before an inherited one. They may not disagree."""
    given = [name for name in names if environ.get(name)]
    for other in given[1:]:
        if environ[other] != environ[given[0]]:
            expected = f"the same as {given[0]}, which is {environ[given[0]]!r}: unset one of them"
            raise BadSetting(other, environ[other], f"the variable {other}", expected)
    return given[0] if given else None


def _checked(setting: Setting, value: object, origin: str) -> Any:
    try:
        return setting.read(value)
    except (ValueError, TypeError):
        raise BadSetting(setting.key, value, origin, setting.expected) from None


def _file(
    config: Path | None, environ: Mapping[str, str], directory: Path
) -> tuple[Mapping[str, Any], str]:
    """The file's tree and its name; an empty tree where there is none and none was asked for."""
    if config is not None:
        return _parsed(config, "the flag --config"), str(config)
    if variable := set_variable(environ, *CONFIG_VARIABLES):
        path = Path(environ[variable])
        return _parsed(path, f"the variable {variable}"), str(path)
    for path in (directory / name for name in CONFIG_NAMES):
        if path.is_file():
            return _parsed(path, "the working directory"), str(path)
    return {}, str(directory / CONFIG_NAMES[0])


def _parsed(path: Path, origin: str) -> Mapping[str, Any]:
    """Read HOCON. The parser is imported only where there is something to parse."""
    from pyhocon import ConfigFactory
    from pyhocon.exceptions import ConfigException
    from pyparsing import ParseBaseException

    try:
        tree = ConfigFactory.parse_string(path.read_text(), basedir=str(path.parent))
    except OSError as error:
        expected = f"a file that can be read: {error.strerror}"
        raise BadSetting("config", path, origin, expected) from error
    except (ConfigException, ParseBaseException, UnicodeDecodeError) as error:
        raise BadSetting("config", path, origin, f"valid HOCON: {error}") from error
    plain = tree.as_plain_ordered_dict() if hasattr(tree, "as_plain_ordered_dict") else {}
    return {str(key).strip('"'): value for key, value in plain.items()}


def _host(value: object) -> str:
    name = _text(value)
    if not _HOST.fullmatch(name):
        raise ValueError(value)
    return name


def _port(value: object) -> int:
    number = _whole(value)
    if not 0 <= number <= 65535:
        raise ValueError(value)
    return number


def _directory(value: object) -> Path:
    if not isinstance(value, str | os.PathLike):
        raise TypeError(value)
    return Path(_text(os.fspath(value))).expanduser()


def _name(value: object) -> str:
    name = _text(value)
    if "/" in name or name in (".", "..") or len(name) > 255:
        raise ValueError(value)
    return name


def _count(value: object) -> int:
    number = _whole(value)
    if number < 1:
        raise ValueError(value)
    return number


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError(value)
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError(value)
    return int(value)


_HOST = re.compile(r"[A-Za-z0-9.:_-]{1,253}")
_NAME = "a plain file name without '/'"
_COUNT = "a whole number of at least 1"

GATEWAY_HOST = ("SONDE_GATEWAY_HOST", "AEGIR_GATEWAY_HOST")
GATEWAY_PORT = ("SONDE_GATEWAY_PORT", "AEGIR_GATEWAY_PORT")
OUTPUT_DIR = ("SONDE_OUTPUT_DIR", "AEGIR_P5_OUTPUT_DIR")

SETTINGS = (
    Setting("aegir.gateway.host", _host, "an address or a host's name", GATEWAY_HOST),
    Setting("aegir.gateway.port", _port, "a port from 0 to 65535", GATEWAY_PORT),
    Setting("aegir.p5.output_dir", _directory, "a directory's path", OUTPUT_DIR),
    Setting("aegir.p5.sae_log_filename", _name, _NAME),
    Setting("aegir.p5.sae_live_log_filename", _name, _NAME),
    Setting("aegir.p5.metadata_filename", _name, _NAME),
    Setting("aegir.p5.sae_live_spill_every_n_steps", _count, _COUNT),
    Setting("aegir.p5.save_steps", _count, _COUNT),
    Setting("aegir.p5.save_total_limit", _count, _COUNT),
)
"""Every key there is."""
