"""A verifier of your own, by name: `path/to/file.py:verify` or `package.module:verify`."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from sonde.errors import BadReward
from sonde.training.rewards.reward_function import Verifier


def load_verifier(name: str) -> Verifier:
    """The callable that a name leads to."""
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute:
        raise BadReward(f"reward {name!r} is not of the form file.py:function or module:function")
    module = _file(Path(where)) if where.endswith(".py") else _module(where)
    found = getattr(module, attribute, None)
    if not callable(found):
        named = [name for name, each in vars(module).items() if callable(each) and name[0] != "_"]
        raise BadReward(f"{where} has no callable {attribute!r}; it has {named[:10]}")
    verifier: Verifier = found
    return verifier


def _file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"sonde_reward_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise BadReward(f"there is no file {str(path)!r}; name one that holds a verifier")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BadReward(f"cannot import {name!r}: {error}") from error
