"""What the options of `sonde sweep` ask, checked as far as that goes without a model.

Loading takes seconds, or minutes, so whatever is wrong with the options alone is said before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from sonde.cli import parse
from sonde.errors import BadRequest
from sonde.model import sweep_request
from sonde.prompts import PAIRS
from sonde.schema import HOOKS, Hook, Mask, Metric, ModelDescription, PatchSweepRequest

METRICS = get_args(Metric)


@dataclass(frozen=True)
class Prompts:
    """The two prompts, or with `--ablate` the one, and the tokens that are graded."""

    corrupt: str
    clean: str | None
    answer: str | int
    foil: str | int | None


@dataclass(frozen=True)
class Question:
    """A sweep that waits for its model."""

    prompts: Prompts
    hooks: list[Hook] | None
    """None is all that the model has."""
    layers: slice | list[int]
    positions: parse.Places | Literal["all"]
    metrics: list[Metric]
    """The first is the one that is drawn."""
    options: dict[str, Any]
    """Further fields of the request."""

    def request(self, about: ModelDescription) -> PatchSweepRequest:
        """The same for a model, whether it is loaded here or on a server."""
        asked = self.prompts
        return sweep_request(
            corrupt=asked.corrupt,
            clean=asked.clean,
            answer=asked.answer,
            foil=asked.foil,
            hooks=about.hooks if self.hooks is None else self.hooks,
            layers=parse.layers_of(self.layers, about.n_layers),
            positions=self.positions,
            metric=self.metrics[0],
            metrics=self.metrics[1:] or None,
            **self.options,
        )


def question(asked: Mapping[str, Any]) -> Question:
    """Read the options, by name, as click gives them."""
    hooks = parse.words("--hooks", asked["hooks"], [*HOOKS, "all"])
    metrics = cast(list[Metric], parse.words("--metric", asked["metric"], METRICS))
    prompts = _prompts(asked)
    _refuse_conflicts(asked, prompts, metrics)
    return Question(
        prompts=prompts,
        hooks=None if "all" in hooks else cast(list[Hook], hooks),
        layers=parse.layers(asked["layers"]),
        positions=parse.positions("--positions", asked["positions"]),
        metrics=metrics,
        options=_options(asked),
    )


def _prompts(asked: Mapping[str, Any]) -> Prompts:
    """The prompts as given; what is not given comes from `--pair`, if that is."""
    name = asked["pair"]
    pair = None if name is None else PAIRS[parse.one_of("--pair", name, PAIRS)]

    def given(name: str) -> Any:
        text, token_id = asked[name], asked.get(f"{name}_token_id")
        if text is None:
            return getattr(pair, name, None) if token_id is None else token_id
        if token_id is not None:
            raise BadRequest(f"give --{name} or --{name}-token-id, not both")
        return parse.text(f"--{name}", text)

    corrupt, answer, clean = given("corrupt"), given("answer"), given("clean")
    if corrupt is None:
        raise BadRequest(
            "there is no prompt to patch: give --clean, --corrupt and --answer, "
            "or begin with `sonde sweep --pair eiffel`"
        )
    if answer is None:
        raise BadRequest("there is no answer to grade: give --answer, such as --answer ' Paris'")
    if asked["ablate"] is not None:
        clean = asked["clean"]
    return Prompts(corrupt, clean, answer, given("foil"))


def _refuse_conflicts(asked: Mapping[str, Any], prompts: Prompts, metrics: list[Metric]) -> None:
    """Options that make no sense together, or not without another."""
    for name, prompt in (("clean", prompts.clean), ("corrupt", prompts.corrupt)):
        if prompt == "":
            raise BadRequest(f"--{name} is empty; give it some text")
    if "logit_diff" in metrics and prompts.foil is None:
        raise BadRequest("--metric logit_diff compares the answer with another word: give --foil")
    if asked["pairing"] is not None and asked["source_positions"]:
        raise BadRequest("--source-positions pairs tokens one by one: leave --pairing out")
    if asked["ablate"] is None:
        if prompts.clean is None:
            raise BadRequest(
                "there is nothing to patch with: give --clean, the prompt whose activations are "
                "patched in, or --ablate zeros"
            )
        return
    for option in ("clean", "pairing", "source_positions"):
        if asked[option]:
            name = option.replace("_", "-")
            raise BadRequest(f"--ablate patches with a vector and takes no --{name}: leave one out")
    if "recovered" in metrics:
        raise BadRequest(
            "--metric recovered is a share of the gap to the clean prompt, and --ablate has none; "
            "choose logprob or logit_diff"
        )


def _options(asked: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {"alpha": parse.alpha(asked["alpha"])}
    if asked["mask"] is not None:
        form = "write numbers of dimensions, such as 0,1,2 or 0:64"
        options["mask"] = Mask(indices=parse.numbers("--mask", asked["mask"], form))
    if asked["ablate"] is not None:
        options["source_module"] = asked["ablate"]
    if asked["pairing"] is not None:
        options["pairing"] = asked["pairing"]
    if asked["source_positions"]:
        places = parse.positions("--source-positions", asked["source_positions"])
        if places == "all":
            raise BadRequest("--source-positions all means nothing: name one for each position")
        options["source_positions"] = [
            place if isinstance(place, int) else place.to_wire() for place in places
        ]
    return options
