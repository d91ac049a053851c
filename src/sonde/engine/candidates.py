"""The pairs of a request, before anything is run: which are fit, and where their columns are.

Texts become tokens, roles become positions. What no model is needed for is found out here, pair by
pair, so that the axis of pairs is known before the first number and every one left out has a
reason. Where none is left, the first one's error is the request's.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Literal

from sonde.backends.base import Backend
from sonde.engine.columns import ColumnKey, places_of
from sonde.engine.edges import table_cells
from sonde.engine.plan import Limits
from sonde.engine.setting import Prompts, Setting, of_edges, set_up
from sonde.engine.sites import Cells, CellsOf
from sonde.engine.slopes import check_smooth, check_way
from sonde.errors import BadRequest
from sonde.prompts import has_role
from sonde.schema.pair import PromptPair, RoleSpans
from sonde.schema.table import Direction, DroppedPair, SweepRequest

DIRECTIONS: dict[Direction | Literal["both"], tuple[Direction, ...]] = {
    "denoise": ("denoise",),
    "noise": ("noise",),
    "both": ("denoise", "noise"),
}
UNFIT = ("corrupt", "clean", "answer", "foil", "source_run")
"""Fields that a request over pairs has no use for."""


@dataclass(frozen=True)
class Candidate:
    """A pair that nothing is known against so far."""

    number: int
    """In the request, from 0."""
    pair: PromptPair


@dataclass(frozen=True)
class Candidates:
    """All of them, and what they have in common."""

    request: SweepRequest
    directions: tuple[Direction, ...]
    places: Sequence[ColumnKey]
    fit: list[Candidate]
    dropped: list[DroppedPair]
    cells: Cells
    """Those of one pair in one direction, whose sources are not looked at."""
    warnings: list[str]

    @property
    def cells_a_pair(self) -> int:
        """Cells of all tables, in all directions."""
        return self.cells.n_cells * len(self.directions)


def exchanged(pair: PromptPair) -> PromptPair:
    """The same with its prompts exchanged; what is graded stays."""
    roles = {
        name: RoleSpans(clean=role.corrupt, corrupt=role.clean)
        if isinstance(role, RoleSpans)
        else role
        for name, role in pair.roles.items()
    }
    update = {"clean": pair.corrupt, "corrupt": pair.clean, "roles": roles}
    return pair.model_copy(update=update)


def candidates(
    backend: Backend, request: SweepRequest, limits: Limits, cells_of: CellsOf | None = table_cells
) -> Candidates:
    """Check a request over pairs as far as tokens tell.

    Without `cells_of` nothing is laid out: of features, only who has the dictionary can do that.
    """
    pairs = request.pairs
    assert pairs is not None
    _check_alone(request)
    if len(pairs) > limits.pairs:
        raise BadRequest(f"{len(pairs)} pairs; at most {limits.pairs} are admitted in one sweep")
    directions = DIRECTIONS[request.direction]
    troubles: dict[int, BadRequest] = {}
    settings: dict[int, Setting] = {}
    seen: dict[str, int] = {}
    with ExitStack() as cleanup:
        for number, pair in enumerate(pairs):
            try:
                _refuse_twin(pair, number, seen)
                settings[number] = one_setting(backend, request, pair, limits, cleanup)
                _check_pair(request, settings[number])
            except BadRequest as error:
                troubles[number] = error
                settings.pop(number, None)
        places, warnings = _places(request, settings, directions)
        cells = Cells([], [])
        for number in list(settings):
            try:
                for direction in directions:
                    setting = turned(settings[number], direction, limits, cleanup)
                    setting.places = places
                    if cells_of is not None:
                        cells = cells_of(setting, reckoned=True)
            except BadRequest as error:
                troubles[number] = error
                del settings[number]
    if not settings:
        raise _none_left(troubles, len(pairs))
    made = Candidates(
        request,
        directions,
        places,
        [Candidate(number, pairs[number]) for number in settings],
        [DroppedPair(pair=n, reason=str(troubles[n])) for n in sorted(troubles)],
        cells,
        warnings,
    )
    total = made.cells_a_pair * len(made.fit)
    most = limits.cells if request.method == "exact" else limits.scored_cells
    if total > most:
        raise BadRequest(
            f"a sweep of {total} cells; at most {most} are admitted: take fewer pairs, "
            "layers or positions, or positions='together'"
        )
    return made


def one_setting(
    backend: Backend, request: SweepRequest, pair: PromptPair, limits: Limits, cleanup: ExitStack
) -> Setting:
    """What one pair starts from."""
    return set_up(
        backend, request, limits, cleanup, prompts=Prompts.of_pair(pair), find_rival=False
    )


def turned(setting: Setting, direction: Direction, limits: Limits, cleanup: ExitStack) -> Setting:
    """The setting of a pair in a direction: itself, or that of the pair exchanged."""
    if direction == "denoise":
        return setting
    given, clean = setting.prompts, setting.clean
    assert given.clean is not None
    assert clean is not None
    pair = exchanged(
        PromptPair(
            clean=given.clean,
            corrupt=given.corrupt,
            answer=given.answer,
            foil=given.foil,
            roles=dict(given.roles),
        )
    )
    question = replace(setting.question, corrupt=tuple(clean), clean=tuple(setting.corrupt))
    return Setting(
        setting.backend, setting.model, setting.request, Prompts.of_pair(pair), question,
        clean, setting.corrupt, limits, cleanup, places=setting.places,
    )  # fmt: skip


def _check_alone(request: SweepRequest) -> None:
    if request.method == "adaptive" or (request.method != "exact" and request.direction == "both"):
        what = "direction 'both'" if request.method == "attribution" else "method 'adaptive'"
        raise BadRequest(
            f"{what} does not go with first-order scores of `pairs`; take method 'attribution' and "
            "one direction"
        )
    if request.method != "exact":
        check_smooth([request.metric or "logprob", *(request.metrics or [])])
    for name in UNFIT:
        if getattr(request, name) is not None:
            raise BadRequest(f"{name} does not go with `pairs`, which has its own: leave one out")


def _refuse_twin(pair: PromptPair, number: int, seen: dict[str, int]) -> None:
    key = pair.model_dump_json(include={"clean", "corrupt", "answer", "foil"})
    first = seen.setdefault(key, number)
    if first != number:
        raise BadRequest(f"the same as pair {first}")


def _check_pair(request: SweepRequest, setting: Setting) -> None:
    axis = request.features
    takes_from_clean = axis is None or axis.how in (None, "patch")
    if takes_from_clean and setting.clean == setting.corrupt:
        raise BadRequest("its clean and its corrupt prompt are the same")
    assert setting.clean is not None
    check_way(request, setting.corrupt, setting.clean)
    named = [p for p in _listed(request) if isinstance(p, str)]
    for name in named:
        if not has_role(setting.prompts.roles, name):
            held = ", ".join(setting.prompts.roles) or "none"
            raise BadRequest(f"it has no role {name!r}; its roles: {held}")
    if not request.one_token:
        return
    for what, options in (("answer", setting.question.answers), ("foil", setting.question.foils)):
        long = [option for option in options if len(option) > 1]
        if long:
            split = "|".join(setting.backend.detokenize([token]) for token in long[0])
            raise BadRequest(f"its {what} is {len(long[0])} tokens, {split!r}, and one is asked")


def _listed(request: SweepRequest) -> Sequence[object]:
    return request.positions if isinstance(request.positions, list) else []


def _places(
    request: SweepRequest, settings: dict[int, Setting], directions: Sequence[Direction]
) -> tuple[Sequence[ColumnKey], list[str]]:
    some = list(settings.values())
    lengths = [
        len(each.corrupt if direction == "denoise" else each.clean or [])
        for each in some
        for direction in directions
    ]
    if not some:
        return [], []
    prompts = [each.prompts for each in some]
    positions = "together" if request.positions is None and of_edges(request) else request.positions
    return places_of(positions, request.hooks or [], prompts, lengths)


def _none_left(troubles: dict[int, BadRequest], n: int) -> BadRequest:
    """A request's own trouble, where all pairs have the same; otherwise that of the first pairs."""
    errors = [troubles[number] for number in sorted(troubles)]
    if len({str(error) for error in errors}) == 1 and type(errors[0]) is not BadRequest:
        return errors[0]
    first = "; ".join(f"pair {number}: {troubles[number]}" for number in sorted(troubles)[:3])
    return BadRequest(f"none of {n} pairs can be swept: {first}")
