"""What the writes of a sweep over sites take: the clean run, zeros, a mean, another prompt's run.

One object for each kind, made once for a sweep; it gives the source of any write. What is captured
for it goes with the sweep.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sonde.backends.base import FromRun, FromVector, MeanOf, Site, Source
from sonde.engine.setting import Foreign, Setting, prompt_tokens
from sonde.errors import BadRequest, StaleSourceRun
from sonde.prompts import prompt_digest
from sonde.schema import HOOK_TABLE, Hook, SourceRun


class SourceOf(Protocol):
    """The source of a write."""

    def __call__(self, site: Site) -> Source:
        """What is written there."""
        ...


class Span(NamedTuple):
    """The hooks and layers of a sweep."""

    hooks: Sequence[Hook]
    layers: Sequence[int]


def sources_of(
    setting: Setting, span: Span, takes: Sequence[Mapping[int, tuple[int, ...]]]
) -> Sequence[SourceOf]:
    """The source of each column; only of the clean prompt may they take different things."""
    kind = setting.request.source
    if kind == "clean":
        return from_clean(setting, span, takes)
    made = {"zero": lambda: zeros(setting), "mean": lambda: mean(setting, span)}
    same = resampled(setting, span) if kind == "resample" else made[kind]()
    return [same] * len(takes)


def zeros(setting: Setting) -> SourceOf:
    """Nothing, as wide as what it takes the place of."""
    n_tokens, made = len(setting.corrupt), dict[int, FromVector]()

    def source(site: Site) -> Source:
        width = _width(setting, site.hook, n_tokens)
        if width not in made:
            made[width] = FromVector(np.zeros(width, dtype=np.float32))
        return made[width]

    return source


def from_clean(
    setting: Setting, span: Span, takes: Sequence[Mapping[int, tuple[int, ...]]]
) -> list[SourceOf]:
    """The clean run; for each column, at the positions that correspond there."""
    if setting.foreign is not None:
        return [_from_foreign(setting, setting.foreign, each) for each in takes]
    run = _clean_run(setting, span)

    def taking(sources: Mapping[int, tuple[int, ...]]) -> SourceOf:
        return lambda site: _taken(run, [sources[position] for position in site.positions])

    made = {id(sources): taking(sources) for sources in takes}
    return [made[id(sources)] for sources in takes]


def foreign_of(setting: Setting, span: Span) -> Foreign:
    """What this model has at the sites of a sweep, to be written into models of other weights."""
    assert setting.clean is not None
    run = _capture(setting, "clean", setting.clean, span)
    places = [(hook, layer) for hook in span.hooks for layer in sorted(set(span.layers))]
    everywhere = tuple(range(len(setting.clean)))
    sites = [Site(hook, layer, everywhere) for hook, layer in places]
    found = setting.backend.read(run.run, sites)
    return Foreign(run.weights, tuple(setting.clean), dict(zip(places, found, strict=True)))


def _from_foreign(
    setting: Setting, foreign: Foreign, sources: Mapping[int, tuple[int, ...]]
) -> SourceOf:
    if foreign.tokens != tuple(setting.clean or ()):
        raise BadRequest(
            "the activations to be written are of another prompt: the tokenizers of the two "
            "checkpoints differ"
        )

    def source(site: Site) -> Source:
        values = foreign.values[site.hook, site.layer]
        if site.head is not None:
            assert setting.model.heads is not None
            n = setting.model.heads.count(site.hook)
            values = values.reshape(len(values), n, -1)[:, site.head]
        taken = [sources[position] for position in site.positions]
        rows = [values[each[0]] if len(each) == 1 else values[[*each]].mean(0) for each in taken]
        return FromVector(np.stack(rows))

    return source


def _taken(run: SourceRun, taken: Sequence[tuple[int, ...]]) -> Source:
    if all(len(each) == 1 for each in taken):
        return FromRun(run.run, tuple([each[0] for each in taken]), run.generation)
    # One of several means: every position's own, each repeated until all have as many.
    most = int(np.lcm.reduce([len(each) for each in taken]))
    parts = [
        FromRun(run.run, tuple([each[k % len(each)] for each in taken]), run.generation)
        for k in range(most)
    ]
    return MeanOf(tuple(parts))


def resampled(setting: Setting, span: Span) -> SourceOf:
    """One of the reference prompts, drawn for every site; the same seed draws the same."""
    prompts = _references(setting, "resample")
    _check_lengths(setting, prompts, "source 'resample' takes activations position by position")
    runs = [_capture(setting, f"reference-{i}", tokens, span) for i, tokens in enumerate(prompts)]

    def source(site: Site) -> Source:
        key = f"{setting.request.seed} {site.hook} {site.layer} {site.head} {site.positions}"
        drawn = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % len(runs)
        return FromRun(runs[drawn].run, site.positions, runs[drawn].generation)

    setting.notes["resample"] = f"{len(runs)} reference prompts, seed {setting.request.seed}"
    return source


@dataclass(frozen=True)
class Means:
    """Mean activations over some prompts, with a digest of all they were made of."""

    digest: str
    by_hook: dict[Hook, NDArray[np.float32]]
    """[layers, positions, …]; one position for all where they were averaged too."""


def mean(setting: Setting, span: Span) -> SourceOf:
    """The mean over the reference prompts: position by position, or over all their tokens."""
    prompts, over = _references(setting, "mean"), setting.request.mean_over
    if over == "position":
        _check_lengths(setting, prompts, "mean_over 'position' takes them position by position")
    staying = [hook for hook in span.hooks if HOOK_TABLE[hook].stays]
    if over == "tokens" and staying:
        raise BadRequest(
            f"{staying[0]} holds for its own position (rotary angles, one weight a key), so there "
            f"is no mean of it over tokens; take mean_over='position', or leave {staying[0]} out"
        )
    means = _means(setting, span, prompts)
    index = {layer: i for i, layer in enumerate(sorted(set(span.layers)))}

    def source(site: Site) -> Source:
        values = means.by_hook[site.hook][index[site.layer]]
        values = values if site.head is None else values[:, site.head]
        return FromVector(values[0] if over == "tokens" else values[list(site.positions)])

    setting.notes["mean"] = f"{means.digest} of {len(prompts)} prompts, over {over}"
    return source


def _means(setting: Setting, span: Span, prompts: Sequence[Sequence[int]]) -> Means:
    """Captured prompt by prompt, so that no more than one of them is held at a time."""
    layers, over = sorted(set(span.layers)), setting.request.mean_over
    totals: dict[Hook, NDArray[np.float64]] = {}
    for number, tokens in enumerate(prompts):
        run = _capture(setting, f"reference-{number}", tokens, span)
        everywhere = tuple(range(len(tokens)))
        for hook in span.hooks:
            sites = [Site(hook, layer, everywhere) for layer in layers]
            values = np.stack(setting.backend.read(run.run, sites)).astype(np.float64)
            if over == "tokens":
                values = values.sum(1, keepdims=True)
            totals[hook] = totals.get(hook, 0) + values
        setting.backend.release(run.run, setting.holder)
        setting.backend.drop(run.run, run.generation)
    count = len(prompts) if over == "position" else sum(map(len, prompts))
    made = {
        hook: _by_head(setting, hook, (total / count).astype(np.float32))
        for hook, total in totals.items()
    }
    said = [
        setting.model.weights,
        over,
        *map(prompt_digest, prompts),
        *span.hooks,
        *map(str, layers),
    ]
    digest = hashlib.sha256("\n".join(said).encode())
    for hook in span.hooks:
        digest.update(made[hook].tobytes())
    return Means(f"sha256:{digest.hexdigest()[:16]}", made)


def _by_head(setting: Setting, hook: Hook, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """[layers, positions, width] -> [layers, positions, heads, width] where there are heads."""
    if HOOK_TABLE[hook].per == "model":
        return values
    assert setting.model.heads is not None
    return values.reshape(*values.shape[:2], setting.model.heads.count(hook), -1)


def _width(setting: Setting, hook: Hook, n_tokens: int) -> int:
    if HOOK_TABLE[hook].per == "model":
        return setting.model.width
    assert setting.model.heads is not None
    return setting.model.heads.width(hook, n_tokens)


def _references(setting: Setting, source: str) -> list[list[int]]:
    given = setting.request.reference
    if not given:
        raise BadRequest(f"source {source!r} needs reference prompts: name some in `reference`")
    return [prompt_tokens(setting.backend, setting.model, each, setting.limits) for each in given]


def _check_lengths(setting: Setting, prompts: Sequence[Sequence[int]], why: str) -> None:
    n = len(setting.corrupt)
    for number, tokens in enumerate(prompts):
        if len(tokens) != n:
            raise BadRequest(
                f"reference prompt {number} has {len(tokens)} tokens and the corrupt prompt {n}; "
                f"{why}: give prompts of {n} tokens, or source='mean' with mean_over='tokens'"
            )


def _clean_run(setting: Setting, span: Span) -> SourceRun:
    """The stored run that is named, or one captured now, which goes with the sweep."""
    backend, name, clean = setting.backend, setting.request.source_run, setting.clean
    assert clean is not None
    stored = None if name is None else backend.manifests().get(name)
    if stored is None:
        return _capture(setting, "clean", clean, span, name)
    if stored.weights != setting.model.weights:
        raise StaleSourceRun(stored.run, stored.weights, setting.model.weights)
    if stored.prompt != prompt_digest(clean):
        raise BadRequest(
            f"run {stored.run!r} was captured from a {stored.n_tokens}-token prompt that is "
            f"not this clean prompt of {len(clean)} tokens; name another run"
        )
    setting.lease(stored.run)
    return stored


def _capture(
    setting: Setting, what: str, tokens: Sequence[int], span: Span, name: str | None = None
) -> SourceRun:
    run = name or f"{setting.holder}.{what}"
    layers = sorted(set(span.layers))
    held = setting.backend.capture(run, tokens, span.hooks, layers, range(len(tokens)))
    setting.cleanup.callback(setting.backend.drop, run, held.generation)
    setting.lease(run)
    return held
