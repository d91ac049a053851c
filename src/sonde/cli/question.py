"""What the options of `sonde sweep` ask, checked as far as that goes without a model.

Loading takes seconds, or minutes, so whatever is wrong with the options alone is said before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from sonde.cli import parse
from sonde.cli.pairs import pairs_of, places_of, refuse_others
from sonde.errors import BadRequest
from sonde.prompts import PAIRS
from sonde.request import CLASSIC_METRICS, Answers, Places, Request, sweep_request
from sonde.schema import HOOKS, Hook, Mask, ModelDescription
from sonde.schema.table import FeatureAxis, TableMetric
from sonde.tasks import Pairs

METRICS = [metric for metric in get_args(TableMetric) if metric != "reward"]


@dataclass(frozen=True)
class Prompts:
    """The two prompts, or with `--ablate` the one, and the answers that are graded."""

    corrupt: str | None
    clean: str | None
    answer: Answers | None
    foil: Answers | None
    pairs: Pairs | None = None
    """Instead of these, many pairs."""


@dataclass(frozen=True)
class Question:
    """A sweep that waits for its model."""

    prompts: Prompts
    hooks: list[Hook] | None
    """None is all that the model has."""
    layers: slice | list[int] | str
    positions: Places | None
    """None is what the hooks have: all together where each has heads, else each."""
    metrics: list[TableMetric]
    """The first is the one that is drawn."""
    options: dict[str, Any]
    """Further fields of the request."""

    def _layers(self, about: ModelDescription) -> Any:
        """Those asked for; none, where all are meant of what has its own: features, and edges."""
        own = {"features", "senders", "receivers"} & self.options.keys()
        if own and self.layers == slice(None):
            return None
        return parse.layers_of(self.layers, about.n_layers)

    def request(self, about: ModelDescription) -> Request:
        """The same for a model, whether it is loaded here or on a server."""
        asked = self.prompts
        return sweep_request(
            corrupt=asked.corrupt,
            clean=asked.clean,
            answer=asked.answer,
            foil=asked.foil,
            pairs=asked.pairs,
            n_layers=about.n_layers,
            hooks=about.layer_hooks if self.hooks is None else self.hooks,
            layers=self._layers(about),
            positions=self.positions,
            metric=self.metrics[0],
            metrics=self.metrics[1:] or None,
            **self.options,
        )


def question(asked: Mapping[str, Any]) -> Question:
    """Read the options, by name, as click gives them."""
    hooks = parse.words("--hooks", asked["hooks"], [*HOOKS, "all"])
    metrics = cast(list[TableMetric], parse.words("--metric", asked["metric"], METRICS))
    prompts, given = _prompts(asked, metrics), asked["positions"]
    positions: Any = None
    if prompts.pairs is not None:
        positions = places_of("--positions", given) if given else None
    else:
        positions = parse.positions("--positions", given) if given else None
        _refuse_conflicts(asked, prompts, metrics)
        _refuse_two_kinds(asked, prompts, metrics, positions)
    return Question(
        prompts=prompts,
        hooks=None if "all" in hooks else cast(list[Hook], hooks),
        layers=parse.layers(asked["layers"]),
        positions=positions,
        metrics=metrics,
        options=_options(asked),
    )


def _prompts(asked: Mapping[str, Any], metrics: list[TableMetric]) -> Prompts:
    """The prompts as given; what is not given comes from `--pair`, if that is."""
    if asked["pairs"] is not None:
        refuse_others(asked)
        many = pairs_of("--pairs", asked["pairs"], asked["seed"])
        return Prompts(None, None, None, None, many)
    for option in ("direction", "keep_wrong"):
        if asked[option]:
            raise BadRequest(f"--{option.replace('_', '-')} is about many pairs: give --pairs too")
    name = asked["pair"]
    pair = None if name is None else PAIRS[parse.one_of("--pair", name, PAIRS)]

    def prompt(name: str) -> str | None:
        text = asked[name]
        return getattr(pair, name, None) if text is None else parse.text(f"--{name}", text)

    corrupt, clean = prompt("corrupt"), prompt("clean")
    answer, foil = _graded(asked, "answer"), _graded(asked, "foil")
    if pair is not None:
        answer = pair.answer if answer is None else answer
        # Only where it is needed: beside a foil, `recovered` would be of the logit difference.
        foil = pair.foil if foil is None and "logit_diff" in metrics else foil
    if corrupt is None:
        raise BadRequest(
            "there is no prompt to patch: give --clean, --corrupt and --answer, "
            "or begin with `sonde sweep --pair eiffel`"
        )
    if answer is None:
        raise BadRequest("there is no answer to grade: give --answer, such as --answer ' Paris'")
    if asked["ablate"] is not None:
        clean = asked["clean"]
    return Prompts(corrupt, clean, answer, foil)


def _graded(asked: Mapping[str, Any], name: str) -> Answers | None:
    """The answers or the foils, by their texts or by their ids; None where none is given."""
    texts, ids = asked[name], asked[f"{name}_token_id"]
    if texts and ids:
        raise BadRequest(f"give --{name} or --{name}-token-id, not both")
    if "" in texts:
        raise BadRequest(f"--{name} is empty; give it some text, such as --{name} ' Paris'")
    given = [parse.text(f"--{name}", text) for text in texts] or list(ids)
    if len(set(given)) < len(given):
        raise BadRequest(f"--{name} is given twice with the same value; keep one of them")
    return given[0] if len(given) == 1 else given or None


def _refuse_two_kinds(
    asked: Mapping[str, Any],
    prompts: Prompts,
    metrics: list[TableMetric],
    positions: parse.Places | Literal["all", "together"] | None,
) -> None:
    """Options of classic sweeps beside what only general ones have."""
    classic = [name for name in ("mask", "source_positions") if asked[name]]
    if not classic:
        return
    option = f"--{classic[0].replace('_', '-')}"
    beyond = [f"--metric {metric}" for metric in metrics if metric not in CLASSIC_METRICS]
    for name, given in (("answer", prompts.answer), ("foil", prompts.foil)):
        beyond += [f"more than one --{name}"] if isinstance(given, list) else []
    beyond += ["--positions together"] if positions == "together" else []
    if beyond:
        raise BadRequest(f"{option} does not go with {beyond[0]}: leave one out")


def _refuse_conflicts(
    asked: Mapping[str, Any], prompts: Prompts, metrics: list[TableMetric]
) -> None:
    """Options that make no sense together, or not without another."""
    for name, prompt in (("clean", prompts.clean), ("corrupt", prompts.corrupt)):
        if prompt == "":
            raise BadRequest(f"--{name} is empty; give it some text")
    if "logit_diff" in metrics and prompts.foil is None and asked["features"] is None:
        raise BadRequest("--metric logit_diff compares the answer with another word: give --foil")
    if asked["pairing"] is not None and asked["source_positions"]:
        raise BadRequest("--source-positions pairs tokens one by one: leave --pairing out")
    if asked["reference"] is not None and asked["source"] not in ("mean", "resample"):
        raise BadRequest("--reference is for --source mean or resample: give one of them too")
    if asked["ablate"] is None:
        if prompts.clean is None and asked["source"] in (None, "clean") and not asked["features"]:
            raise BadRequest(
                "there is nothing to patch with: give --clean, the prompt whose activations are "
                "patched in, or --source zero, mean or resample"
            )
        if asked["source"] in ("mean", "resample") and asked["reference"] is None:
            raise BadRequest(
                f"--source {asked['source']} needs prompts: give --reference FILE, one a line"
            )
        return
    if asked["source"] is not None:
        raise BadRequest("--ablate zeros is --source zero: leave one out")
    for option in ("clean", "pairing", "source_positions"):
        if asked[option]:
            name = option.replace("_", "-")
            raise BadRequest(f"--ablate patches with a vector and takes no --{name}: leave one out")
    for metric in ("recovered", "kl_clean"):
        if metric in metrics:
            raise BadRequest(
                f"--metric {metric} compares with the clean prompt, and --ablate has none; choose "
                "another, such as logprob or logit_diff"
            )


def _features(asked: Mapping[str, Any]) -> FeatureAxis:
    """`15`, or `15:748,3844`: the layer, and which of its features."""
    text = asked["features"]
    layer, _, named = text.partition(":")
    form = "write a layer, and numbers if you mean some: 15 or 15:748,3844"
    [at, *more] = parse.numbers("--features", layer, form)
    if more:
        raise BadRequest(f"--features {parse.shown(text)}: one layer at a time; {form}")
    how, _, value = (asked["how"] or "").partition("=")
    given: dict[str, Any] = {"layer": at, "how": how or None, "dictionary": asked["sae"]}
    if how and how not in ("patch", "remove", "clamp"):
        raise BadRequest(f"--how {parse.shown(how)}: write patch, remove or clamp=4.5")
    if value or how == "clamp":
        try:
            given["value"] = float(value)
        except ValueError:
            raise BadRequest("--how clamp needs the activation it sets: clamp=4.5") from None
    if named:
        given["numbers"] = parse.numbers("--features", named, form)
    for name in ("top", "by", "alike", "draws"):
        if asked[name] is not None:
            given[name] = asked[name]
    return FeatureAxis(**given)


def _options(asked: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {"alpha": parse.alpha(asked["alpha"])}
    if asked["mask"] is not None:
        form = "write numbers of dimensions, such as 0,1,2 or 0:64"
        options["mask"] = Mask(indices=parse.numbers("--mask", asked["mask"], form))
    if asked["ablate"] is not None:
        options["source"] = "zero"
    for name in ("source", "kv", "mean_over"):
        if asked[name] is not None:
            options[name] = asked[name]
    if asked["direction"] is not None:
        options["direction"] = asked["direction"]
    if asked["keep_wrong"]:
        options["drop_wrong"] = False
    if asked["seed"]:
        options["seed"] = asked["seed"]
    for name in ("senders", "receivers"):
        if asked[name]:
            options[name] = [each.strip() for text in asked[name] for each in text.split(",")]
    if asked["frozen"] is not None:
        options["frozen"] = asked["frozen"]
    if asked["heads"] is not None:
        options["heads"] = parse.heads(asked["heads"])
    if asked["features"] is not None:
        options["features"] = _features(asked)
    if asked["reference"] is not None:
        options["reference"] = parse.reference(asked["reference"])
    if asked["pairing"] is not None:
        options["pairing"] = asked["pairing"]
    if asked["source_positions"]:
        places = parse.positions("--source-positions", asked["source_positions"])
        if isinstance(places, str):
            raise BadRequest(
                f"--source-positions {places} means nothing: name one for each position"
            )
        options["source_positions"] = [
            place if isinstance(place, int) else place.to_wire() for place in places
        ]
    return options
