"""The cells of a sweep over features: each is changed, and the answer graded.

1. **Look**    what the dictionary sees of the corrupt prompt; patching, of the clean one too.
2. **Choose**  the features: those named, or those that come first (`feature_rank`).
3. **Change**  one feature, or one of the rows that are none (`changes`).
4. **Where**   at each column, and everywhere at once (`feature_layout`). A cell where the feature
   is active nowhere is null and costs nothing: there is nothing to change.
5. **Compare** with directions drawn at random, at every position as long as what is written there,
   and with other features whose change is about as long: most of what a large change does, any
   large change does.

Several prompts share their axes (`shared`): there every feature has a row and every column stays,
and a cell where it is active nowhere is the baseline. An estimate of one prompt reads it too,
because without it nobody knows which cells there are.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from sonde.backends.base import FromVector, Site, Write
from sonde.engine.columns import TOGETHER, Column, clean_sources, columns_of
from sonde.engine.controls import ControlRow, control_rows
from sonde.engine.setting import Setting
from sonde.engine.sites import Cells
from sonde.errors import BadRequest, LayerOutOfRange, UnknownHook
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.changes import OTHER_ROWS, Change, Changes, How, Sight, nearest_in_length
from sonde.sae.evaluate import hook_of, hook_out_of
from sonde.sae.feature_layout import FeatureLayout
from sonde.sae.feature_rank import Ranking, Scores, brightest, first_by_activation, first_order
from sonde.sae.seen import look
from sonde.schema import Skipped
from sonde.schema.table import FeatureAxis, SweepRequest

OTHERS: Final = ("hooks", "layers", "source", "source_run")
"""Fields that choose sites or a source, which a feature axis has of its own."""
TOP, DRAWS = 8, 19
"""Features, and random directions beside each, where nobody says how many."""
SINK: Final = "an attention sink, which no dictionary is trained on"
BY_ACTIVATION: Final = "most active at the last token; those that matter are usually others"


@dataclass(frozen=True, eq=False)
class FeatureCells:
    """Lays out the cells of requests with `features`, of one dictionary."""

    autoencoder: Autoencoder
    name: str | None = None
    """What the dictionary is known by."""
    numbers: Sequence[int] | None = None
    """Features that several prompts share."""
    chosen: str | None = None
    """How they were chosen."""

    def __call__(self, setting: Setting, *, reckoned: bool = False) -> Cells:
        """The cells of one prompt."""
        prompt = _Prompt(self, setting)
        return prompt.reckoned() if reckoned and setting.places is not None else prompt.cells()

    def shared(self, settings: Iterable[Setting]) -> "FeatureCells":
        """The same for several prompts: the features that come first over all of them."""
        ranking, bright, axis = Ranking(), list[dict[int, float]](), FeatureAxis(layer=0)
        by, top, also = "attribution", 0, list[int]()
        for setting in settings:
            prompt = _Prompt(self, setting)
            axis, by, top = prompt.axis, prompt.by, prompt.top
            if axis.numbers is not None:
                return replace(self, numbers=prompt.named(axis.numbers))
            changes, also = prompt.changes(), prompt.named(axis.also or [])
            if by == "attribution":
                ranking.add(prompt.scores(changes, prompt.columns()))
            if by == "activation" or axis.bright:
                bright.append(brightest(changes, len(setting.corrupt) - 1))
        if by == "activation":
            first, chosen = first_by_activation(bright, top), BY_ACTIVATION
        else:
            first = ranking.first(top)
            chosen = _by_attribution(top, len(ranking.sums), ranking.prompts)
        others = first_by_activation(bright, axis.bright)
        return replace(self, numbers=list(dict.fromkeys([*first, *also, *others])), chosen=chosen)


def feature_cells(autoencoder: Autoencoder, *, name: str | None = None) -> FeatureCells:
    """The cells of requests with `features`, of one dictionary; `name` is what it is known by."""
    return FeatureCells(autoencoder, name)


def _checked(request: SweepRequest) -> FeatureAxis:
    axis = request.features
    if axis is None:
        raise BadRequest("a sweep over features, and none are asked for: give `features`")
    for name in OTHERS:
        if getattr(request, name) != SweepRequest.model_fields[name].default:
            raise BadRequest(
                f"with `features`, the dictionary says what is written and where: leave "
                f"{name!r} out"
            )
    if (axis.how == "clamp") != (axis.value is not None):
        raise BadRequest("`value` is the activation that how='clamp' sets: give both, or neither")
    if axis.numbers is not None and (axis.also is not None or axis.bright):
        raise BadRequest(
            "`also` and `bright` stand beside features that `by` puts first, and `numbers` names "
            "all: add those to it"
        )
    return axis


def _by_attribution(top: int, n: int, prompts: int) -> str:
    over = f", over {prompts} prompts" if prompts > 1 else ""
    return (
        f"{min(top, n)} of {n} active features, those with the largest effect to first order in "
        f"one of their cells{over}; every number here is exact"
    )


class _Prompt:
    """One prompt, and what is asked of its features."""

    def __init__(self, made: FeatureCells, setting: Setting) -> None:
        self.axis = _checked(setting.request)
        self.made, self.setting = made, setting
        self.read, self.written = self._sites()

    def _sites(self) -> tuple[Site, Site]:
        """Where the dictionary reads and where it writes, at all positions."""
        autoencoder, setting, layer = self.made.autoencoder, self.setting, self.axis.layer
        for width, does in ((autoencoder.d_in, "reads"), (autoencoder.d_out, "writes")):
            if width != setting.model.width:
                raise BadRequest(
                    f"{autoencoder!r} {does} activations of width {width}, and "
                    f"{setting.model.name!r} has {setting.model.width}; it belongs to another model"
                )
        if len(setting.corrupt) < 2:
            raise BadRequest(
                "a prompt of one token: position 0 is an attention sink and is not read"
            )
        if not 0 <= layer < setting.model.n_layers:
            raise LayerOutOfRange(layer, setting.model.n_layers)
        everywhere = tuple(range(len(setting.corrupt)))
        hooks = hook_of(autoencoder), hook_out_of(autoencoder)
        for hook in hooks:
            if hook not in setting.model.hooks:
                raise UnknownHook(hook, setting.model.hooks)
        return Site(hooks[0], layer, everywhere), Site(hooks[1], layer, everywhere)

    @property
    def how(self) -> How:
        """What is done to a feature."""
        if self.axis.how is not None:
            return self.axis.how
        return "remove" if self.setting.clean is None else "patch"

    @property
    def top(self) -> int:
        """How many features, if nobody names them."""
        return self.axis.top or TOP

    @property
    def draws(self) -> int:
        """Random directions beside each row."""
        return DRAWS if self.axis.draws is None else self.axis.draws

    @property
    def by(self) -> Literal["attribution", "activation"]:
        """What puts features first, if nobody names them."""
        has_gradients = self.setting.model.backend == "torch"
        return self.axis.by or ("attribution" if has_gradients else "activation")

    def named(self, numbers: Sequence[int]) -> list[int]:
        """Features that were named, each once."""
        autoencoder = self.made.autoencoder
        for number in numbers:
            if not 0 <= number < autoencoder.d_sae:
                raise BadRequest(
                    f"feature {number} is out of range [0, {autoencoder.d_sae}) of {autoencoder!r}"
                )
        return list(dict.fromkeys(numbers))

    # What the dictionary sees.

    def changes(self) -> Changes:
        """Every row that this prompt may have."""
        setting, clean = self.setting, None
        takes: Mapping[int, tuple[int, ...]] = {}
        if self.how == "patch":
            takes = clean_sources(setting)
            assert setting.clean is not None
            clean = self._sight("clean", setting.clean)
        corrupt = self._sight("seen", setting.corrupt)
        value = self.axis.value or 0.0
        return Changes(
            self.made.autoencoder, self.axis.layer, self.how, value, corrupt, clean, takes
        )

    def _sight(self, what: str, tokens: Sequence[int]) -> Sight:
        """A prompt, captured where the dictionary reads and writes; the corrupt one is kept."""
        setting, backend, layer = self.setting, self.setting.backend, self.axis.layer
        run, everywhere = f"{setting.holder}.{what}", tuple(range(len(tokens)))
        sites = [replace(site, positions=everywhere) for site in (self.read, self.written)]
        hooks = list(dict.fromkeys(site.hook for site in sites))
        held = backend.capture(run, tokens, hooks, [layer], everywhere)
        setting.cleanup.callback(backend.drop, run, held.generation)
        if what == "seen":
            setting.lease(run)
        read, written = backend.read(run, sites)
        if what != "seen":
            backend.drop(run, held.generation)
        return Sight(look(self.made.autoencoder, read), read, written)

    def scores(self, changes: Changes, columns: Sequence[Column]) -> Scores:
        """First-order effects of all active features."""
        places = [column.positions for column in columns]
        return first_order(self.setting, changes, self.written, places)

    def columns(self) -> list[Column]:
        """The columns that are asked for, each once; everywhere is none of them."""
        setting = self.setting
        if self.how != "patch":  # nothing is taken from another prompt, so nothing is aligned
            if setting.request.pairing != "strict":
                raise BadRequest("pairing is for features that are patched: leave it out")
            plain = setting.request.model_copy(update={"source": "zero"})
            setting = replace(setting, request=plain)
        found = columns_of(setting, [self.written.hook], 1).each
        return list({each.value: each for each in found if each.value != TOGETHER}.values())

    # The tables.

    def cells(self) -> Cells:
        """All cells, what their rows read captured."""
        changes, columns, axis = self.changes(), self.columns(), self.axis
        features, chosen = self._features(changes, columns)
        rows = [*features, *(changes.others() if self._with_others else [])]
        written = frozenset(changes.positions)
        keeps = self.made.numbers is not None
        if not keeps:
            columns = self._used(columns, rows, changes.corrupt.seen.row)
        self._check_size(len(rows), len(columns), len(features))
        layout = FeatureLayout(
            self.written, self.setting.request.alpha, rows, columns, written, keeps
        )
        others = self._alike(changes, features) if axis.alike else []
        vector = next((row.some_vector for row in rows if row.amounts), self._nothing)
        seen = tuple(changes.corrupt.seen.positions)
        back = Write(replace(self.written, positions=seen), vector, how="add")
        controls = control_rows([back], f"{self.setting.holder}.seen")
        notes = self._notes(chosen) | _alike_note(features, others, keeps=keeps)
        return self._laid_out(layout, others, controls, notes)

    def reckoned(self) -> Cells:
        """Tables of the size that those of several prompts have: nothing is run for them."""
        numbers = self.made.numbers or self.axis.numbers
        unnamed = self.top + len(self.axis.also or []) + self.axis.bright
        named = range(unnamed) if numbers is None else self.named(numbers)
        everywhere = self.written.positions
        written = dict.fromkeys(everywhere, 1.0)
        features = [Change(n, f"{self.axis.layer}:{n}", written, self._nothing, {}) for n in named]
        others = [Change(name, name, written, self._nothing, {}) for name in OTHER_ROWS]
        rows = [*features, *(others if self._with_others else [])]
        alpha, columns = self.setting.request.alpha, self.columns()
        layout = FeatureLayout(
            self.written, alpha, rows, columns, frozenset(everywhere), keeps=True
        )
        alike = [[row] * self.axis.alike for row in features]
        return self._laid_out(layout, alike, [], self._notes(self.made.chosen))

    def _laid_out(
        self,
        layout: FeatureLayout,
        alike: Sequence[Sequence[Change]],
        controls: list[ControlRow],
        notes: dict[str, str],
    ) -> Cells:
        axis = self.axis
        made = [layout.cells()]
        if self.draws:
            made.append(layout.random(self.draws, axis.seed, self.made.autoencoder.d_sae))
        if axis.alike:
            made.append(layout.alike(alike, axis.alike))
        tables, panels = [table for table, _ in made], [panel for _, panel in made]
        return Cells(tables, panels, controls, layout.named, notes)

    def _features(
        self, changes: Changes, columns: Sequence[Column]
    ) -> tuple[list[Change], str | None]:
        """The features that are changed, and how they were chosen, if nobody named them."""
        shared, axis, chosen = self.made.numbers, self.axis, None
        if shared is not None:
            return [changes.feature(number) for number in shared], self.made.chosen
        if axis.numbers is not None:
            numbers = self.named(axis.numbers)
        elif self.by == "activation":
            numbers, chosen = self._brightest(changes, self.top), BY_ACTIVATION
        else:
            ranking = Ranking()
            ranking.add(self.scores(changes, columns))
            numbers, chosen = (
                ranking.first(self.top),
                _by_attribution(self.top, len(ranking.sums), 1),
            )
        also, bright = self.named(axis.also or []), self._brightest(changes, axis.bright)
        if bright:
            self.setting.notes["brightest"] = ", ".join(map(str, bright))
        each = [changes.feature(number) for number in dict.fromkeys([*numbers, *also, *bright])]
        found = [change for change in each if change.amounts]
        if not found:
            raise BadRequest(
                f"of the features {numbers} of layer {axis.layer} none is active in this prompt, "
                f"so there is nothing to {self.how}; the strongest at its end are "
                f"{self._brightest(changes, self.top)}"
            )
        silent = [str(change.value) for change in each if not change.amounts]
        if silent:
            self.setting.notes["silent"] = ", ".join(silent)
        return found, chosen

    def _brightest(self, changes: Changes, n: int) -> list[int]:
        activations = brightest(changes, len(self.setting.corrupt) - 1)
        return first_by_activation([activations], n)

    @property
    def _with_others(self) -> bool:
        given = self.axis.error
        return self.how == "patch" if given is None else given

    @property
    def _nothing(self) -> FromVector:
        return FromVector(np.zeros(self.setting.model.width, dtype=np.float32))

    def _used(
        self, columns: Sequence[Column], rows: Sequence[Change], read: Container[int]
    ) -> list[Column]:
        """The columns at which some row writes; of the others it is said why they are left out."""
        used = []
        for column in columns:
            if any(row.among(column.positions) for row in rows):
                used.append(column)
                continue
            for at in column.positions:
                reason = "none of these features is active here" if at in read else SINK
                self.setting.skipped.append(Skipped(position=at, reason=reason))
        return used

    def _alike(self, changes: Changes, features: Sequence[Change]) -> list[list[Change]]:
        """Beside each feature those whose change is most nearly as long, none of them asked for."""
        taken = {feature.value for feature in features}
        others = [changes.feature(number) for number in changes.active() if number not in taken]
        return [nearest_in_length(feature, others, self.axis.alike) for feature in features]

    def _check_size(self, rows: int, columns: int, features: int) -> None:
        n = rows * (columns + 1 + self.draws) + features * self.axis.alike
        if n > self.setting.limits.cells:
            raise BadRequest(
                f"a sweep of {n} cells; at most {self.setting.limits.cells} are admitted: take "
                "fewer features or draws, or positions='together'"
            )

    def _notes(self, chosen: str | None) -> dict[str, str]:
        """Which dictionary it was, what was done, and how features were chosen."""
        autoencoder, layer = self.made.autoencoder, self.axis.layer
        origin = autoencoder.origin
        notes = {"dictionary": self.made.name or origin.file or origin.format}
        if origin.sha256 is not None:
            notes["dictionary_sha256"] = origin.sha256
        if isinstance(answer := self.setting.request.answer, int):
            notes["answer"] = self.setting.backend.detokenize([answer])
        value = "" if self.axis.value is None else f" to {self.axis.value:g}"
        notes |= {"layer": str(layer), "how": self.how + value}
        if chosen is not None:
            notes["chosen"] = chosen
        if autoencoder.layer not in (None, layer):
            self.setting.warnings.append(
                f"the dictionary says that it reads layer {autoencoder.layer}, and it was asked "
                f"about layer {layer}"
            )
        return notes


def _alike_note(
    features: Sequence[Change], others: Sequence[Sequence[Change]], *, keeps: bool
) -> dict[str, str]:
    """Which features stand beside which: of several prompts each has its own."""
    if keeps or not others:
        return {}
    each = zip(features, others, strict=True)
    said = [f"{one.label} beside {' '.join(o.label for o in some) or 'none'}" for one, some in each]
    return {"alike": "; ".join(said)}
