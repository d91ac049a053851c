"""Vectors that have names, for `source_module` in sweeps and completions.

In memory only: after a restart clients register them again. A snapshot never changes,
so work that began with some vectors ends with the same ones, whatever is registered meanwhile.
"""

import threading
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from sonde.backends.base import Vector
from sonde.engine import NamedVectors, VectorModule
from sonde.errors import (
    BadRequest,
    BadVectors,
    LayerOutOfRange,
    RequestTooLarge,
    UnknownHook,
    UnknownVector,
    VectorsExist,
)
from sonde.schema import (
    Hook,
    ModelDescription,
    RegisteredVectors,
    RegisterVectors,
    VectorList,
    VectorSite,
)
from sonde.server.vector_forms import VectorEntry, given_vectors, refuse_tiers

ZEROS = "zeros"
"""The name that needs no registration and cannot have one."""


class VectorRegister:
    """Named vectors within a budget. Safe across threads."""

    def __init__(self, *, budget_bytes: int = 256 * 2**20, names: int = 1024) -> None:
        self._budget = budget_bytes
        self._most_names = names
        self._lock = threading.Lock()
        self._modules: NamedVectors = MappingProxyType({})

    def snapshot(self) -> NamedVectors:
        """What has a name now; it stays as it is."""
        return self._modules

    def register(self, request: RegisterVectors, model: ModelDescription) -> RegisteredVectors:
        """Check the vectors against the model and keep them."""
        refuse_tiers(request)
        if request.name == ZEROS:
            raise BadRequest("the name 'zeros' is taken: it stands for zeros everywhere")
        module = VectorModule(_vectors(request, model), request.scale)
        with np.errstate(over="ignore"):  # what overflows is infinite, and refused by that
            for hook, layer in module.vectors:
                module.at(request.name, hook, layer, model.width)
        with self._lock:
            if request.name in self._modules and not request.replace:
                raise VectorsExist(request.name)
            modules = {**self._modules, request.name: module}
            self._check_size(request.name, modules)
            self._modules = MappingProxyType(modules)
        return _described(request.name, module)

    def unregister(self, name: str) -> None:
        """Forget a name."""
        with self._lock:
            if name not in self._modules:
                raise UnknownVector(name, self._modules)
            left = {kept: module for kept, module in self._modules.items() if kept != name}
            self._modules = MappingProxyType(left)

    def listing(self) -> VectorList:
        """What has a name, and what it takes."""
        modules = self.snapshot()
        return VectorList(
            modules=[_described(name, modules[name]) for name in sorted(modules)],
            used_bytes=_bytes(modules),
            budget_bytes=self._budget,
        )

    def _check_size(self, name: str, modules: NamedVectors) -> None:
        remedy = "unregister some, or register fewer vectors"
        if len(modules) > self._most_names:
            raise BadRequest(f"{self._most_names} names are registered, as many as may; {remedy}")
        if _bytes(modules) > self._budget:
            what = f"vectors {name!r} beside those registered"
            raise RequestTooLarge(what, _bytes(modules), self._budget, remedy)


def _bytes(modules: NamedVectors) -> int:
    return sum(vector.nbytes for module in modules.values() for vector in module.vectors.values())


def _described(name: str, module: VectorModule) -> RegisteredVectors:
    sites = [VectorSite(hook=hook, layer=layer) for hook, layer in module.vectors]
    size = _bytes({name: module})
    return RegisteredVectors(name=name, sites=sites, scale=module.scale, bytes=size)


def _vectors(
    request: RegisterVectors, model: ModelDescription
) -> Mapping[tuple[Hook, int], Vector]:
    """The vectors by site; every refusal says which of them it is about."""
    held: dict[tuple[Hook, int], Vector] = {}
    for given in given_vectors(request):
        site = _site(given, model)
        if site in held:
            raise BadVectors(
                f"{given.where}: a second vector at {site[0]}, layer {site[1]}; keep one"
            )
        held[site] = _values(given, model.width)
    return MappingProxyType(held)


def _site(given: VectorEntry, model: ModelDescription) -> tuple[Hook, int]:
    for hook in model.layer_hooks:
        if hook == given.hook:
            if not 0 <= given.layer < model.n_layers:
                raise LayerOutOfRange(given.layer, model.n_layers)
            return hook, given.layer
    raise UnknownHook(given.hook, model.layer_hooks)


def _values(given: VectorEntry, width: int) -> Vector:
    """One vector of the model's width, as an array of its own that nobody can write to."""
    if given.values.shape != (width,):
        raise BadVectors(f"{given.where} has width {len(given.values)} != hook width {width}")
    if not np.isfinite(given.values).all():
        raise BadVectors(f"{given.where} has numbers too large for single precision")
    values = given.values.copy()
    values.flags.writeable = False
    return values
