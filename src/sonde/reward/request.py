"""A request for a test of the reward: what goes with it, and what does not."""

from sonde.errors import BadRequest
from sonde.schema.reward import RewardTest
from sonde.schema.table import FeatureAxis, SweepRequest

TOP, DRAWS = 3, 4
"""Features, and random directions beside each, where nobody says how many."""


def checked(request: SweepRequest) -> tuple[FeatureAxis, RewardTest]:
    """What does not go with a test of the reward raises."""
    axis, test = request.features, request.reward
    assert test is not None
    if axis is None:
        raise BadRequest("`reward` tests features: say which layer with `features`")
    plain = SweepRequest(features=axis, reward=test, seed=request.seed, stream=request.stream)
    for name in SweepRequest.model_fields:
        if name not in ("metric", "model") and getattr(request, name) != getattr(plain, name):
            raise BadRequest(
                f"`reward` has the run's prompts and verifier, so {name!r} has no meaning: leave "
                "it out"
            )
    if request.metric not in (None, "reward"):
        raise BadRequest(f"metric is {request.metric!r}; with `reward` it is 'reward'")
    if axis.how == "patch":
        raise BadRequest("completions have no clean prompt to patch from: remove or clamp")
    if (axis.how == "clamp") != (axis.value is not None):
        raise BadRequest("`value` is the activation that how='clamp' sets: give both, or neither")
    if axis.alike or axis.error:
        raise BadRequest("features alike and errors are not sampled: leave `alike` and `error` out")
    if axis.numbers is not None and not axis.numbers:
        raise BadRequest("`numbers` names no feature; leave it out, and some are chosen")
    return axis, test
