"""From what is seen in a run to a test of it: which token, on which weights, of which features.

No model is loaded: the run's own tokenizer splits the text, and a completion whose text does not
come out at as many tokens as were recorded is refused. What is asked is one sweep over features,
chosen by attribution; the brightest, which is what the eye would choose, are tested beside them.
Each is removed at all of its positions at once, which is what a bar shows and is ranked by.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from sonde.errors import BadRequest, UnknownGeneration
from sonde.runs.layout import RunLayout
from sonde.runs.listing import checkpoints
from sonde.runs.moment import Moment, checkpoint_near, moments_of, why_near
from sonde.schema.moment import MomentToTest
from sonde.schema.table import FeatureAxis, SweepRequest
from sonde.server.run_tokens import RunTokens, tokens_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sonde.runs.analytics.analysis import RunContents

TOP: Final = 6
"""Features that attribution puts first."""
BRIGHT: Final = 3
"""The brightest at that token, beside them."""
DRAWS: Final = 19
LOOKED_AT: Final = 64
"""Tokens at which a feature was strongest, among which one is chosen."""
SHOWN: Final = 400
"""Letters of the prompt's end."""

GenerationToken = tuple[str, int | None]
"""A generation and a token of it."""


def moment_to_test(
    known: "RunContents",
    cursor: "DuckDBPyConnection",
    layout: RunLayout,
    run: str,
    *,
    layer: int,
    generation: str | None = None,
    token: int | None = None,
    feature: int | None = None,
) -> MomentToTest:
    """The question behind one click, ready to be sent."""
    steps = checkpoints(layout)
    if not steps:
        raise BadRequest(f"run {run} has no checkpoint yet, so there are no weights to test it on")
    tokens = tokens_of(layout)
    if tokens is None:
        raise BadRequest(
            f"no checkpoint of run {run} has a tokenizer.json, so its text cannot be split into "
            "tokens here; `sonde ablate` loads the model, which can"
        )
    moment = _moment(known, cursor, tokens, layer, generation, token, feature)
    near = checkpoint_near(steps, moment.step)
    also = None if feature is None else [feature]
    axis = FeatureAxis(layer=layer, top=TOP, also=also, bright=BRIGHT, dictionary=run, draws=DRAWS)
    return MomentToTest(
        run=run,
        generation_id=moment.generation_id,
        step=moment.step,
        layer=layer,
        token=moment.token,
        after=tokens.text(moment.tokens)[-SHOWN:],
        said=tokens.text([moment.answer]),
        checkpoint=near,
        why=why_near(steps, moment.step, near),
        asked=feature,
        request=SweepRequest(
            model=f"{run}@checkpoint-{near}",
            corrupt=list(moment.tokens),
            answer=moment.answer,
            features=axis,
            positions="together",
            metrics=["logprob"],
        ),
    )


def _moment(
    known: "RunContents",
    cursor: "DuckDBPyConnection",
    tokens: RunTokens,
    layer: int,
    generation: str | None,
    token: int | None,
    feature: int | None,
) -> Moment:
    """The token that is meant: where the feature is strongest, unless one is named."""
    from sonde.runs.analytics.generation import generation_view

    if generation is not None and generation not in known.generations.ids:
        raise UnknownGeneration(generation, "generations are called <step>-<number>; see the list")
    tried: Iterable[GenerationToken]
    if generation is None or (token is None and feature is not None):
        tried = _places(known, cursor, layer, feature, generation)
    else:
        tried = [(generation, token)]
    failure: BadRequest | None = None
    for name, at in tried:
        view = generation_view(known, cursor, name)
        try:
            return moments_of(view, tokens.tokenize, layer=layer, token=at)[0]
        except BadRequest as error:
            failure = failure or error
    where = "" if generation is None else f" of generation {generation}"
    raise failure or BadRequest(
        f"feature {feature} of layer {layer} was among the strongest of no recorded token{where}"
    )


def _places(
    known: "RunContents",
    cursor: "DuckDBPyConnection",
    layer: int,
    feature: int | None,
    generation: str | None,
) -> Iterator[GenerationToken]:
    """Where a feature is strongest, in what passed first; without one, the best generations."""
    from sonde.runs.analytics.generation import generation_page
    from sonde.runs.analytics.strongest import strongest

    if feature is None:
        page = generation_page(known, limit=LOOKED_AT, text=False)
        best = sorted(page.generations, key=lambda row: -(row.R or 0.0))
        yield from ((row.generation_id, None) for row in best)
        return
    within = None if generation is None else known.generations.ids.index(generation)
    spots = strongest(known, cursor, layer, feature, limit=LOOKED_AT, within=within)
    gates = known.generations.rows["gate"]
    for spot in sorted(spots, key=lambda spot: gates[spot.place] == 0):  # stable: strongest first
        yield known.generations.ids[spot.place], spot.position
