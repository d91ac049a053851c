"""The dictionaries whose features a sweep may name, and the few that are held in memory.

A request never names a path: it names a dictionary that the server was given, or a run that is
listed, or none, and then it is the one that comes with Sonde for that layer. Torch is imported when
the first is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sonde.errors import BadRequest, UnknownRun
from sonde.runs.hub import Hub
from sonde.sae import shipped
from sonde.sae.of_run import dictionary_of
from sonde.schema import ModelDescription
from sonde.schema.table import FeatureAxis

if TYPE_CHECKING:
    from sonde.engine.sites import CellsOf
    from sonde.sae.autoencoder import Autoencoder

HELD: Final = 4
"""Dictionaries in memory: a shipped one takes some 20 MB."""


class Dictionaries:
    """Finds and reads dictionaries. `cells` is for the engine's thread alone.

    Dictionaries({"colours": Path("dictionaries/colours")}, runs=hub)
    """

    def __init__(self, named: Mapping[str, Path] | None = None, *, runs: Hub | None = None) -> None:
        """`named` are folders by the name that requests use; those of `runs` go by the run's."""
        self._named = dict(named or {})
        self._runs = runs
        self._held: OrderedDict[Path, Autoencoder] = OrderedDict()

    def find(self, axis: FeatureAxis, model: ModelDescription) -> Path:
        """Where the dictionary of a feature axis is."""
        name = axis.dictionary
        if name is None:
            return self._shipped(axis.layer, model)
        if name in self._named:
            return self._named[name]
        return self._of_run(name, axis.layer)

    def cells(self, axis: FeatureAxis, model: ModelDescription) -> CellsOf:
        """The cells of a sweep over its features."""
        from sonde.sae.feature_axis import feature_cells

        autoencoder, name = self.read(axis, model)
        return feature_cells(autoencoder, name=name)

    def read(self, axis: FeatureAxis, model: ModelDescription) -> tuple[Autoencoder, str]:
        """The dictionary itself, and what it is known by."""
        path = self.find(axis, model)
        return self._read(path), axis.dictionary or f"{path.parent.name}/{path.name}"

    def _shipped(self, layer: int, model: ModelDescription) -> Path:
        if model.name != shipped.MODEL:
            raise BadRequest(
                f"no dictionary comes with Sonde for {model.name!r}; name one in "
                f"features.dictionary: {self._names()}"
            )
        return shipped.find(str(layer))

    def _of_run(self, name: str, layer: int) -> Path:
        try:
            if self._runs is None:
                raise UnknownRun(name)
            layout = self._runs.layout_of(name)
        except UnknownRun as error:
            raise BadRequest(
                f"there is no dictionary and no run {name[:200]!r} here; there are {self._names()}"
            ) from error
        found, reason = dictionary_of(layout, layer)
        if found is None:
            raise BadRequest(f"{reason}; name another in features.dictionary")
        return found

    def _names(self) -> str:
        hub = self._runs
        runs = [] if hub is None else [hub.name_of(layout) for layout in hub.layouts()]
        return ", ".join([*self._named, *runs]) or "none"

    def _read(self, path: Path) -> Autoencoder:
        from sonde.sae.load import load_autoencoder

        if path not in self._held:
            self._held[path] = load_autoencoder(path)
        self._held.move_to_end(path)
        while len(self._held) > HELD:
            self._held.popitem(last=False)
        return self._held[path]
