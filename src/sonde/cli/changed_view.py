"""What `sonde runs changed` says. Pure text."""

from collections.abc import Iterator
from textwrap import wrap

from sonde.results.layer_moves import where, whole
from sonde.results.numbers import MISSING, count, fixed, number, signed, span
from sonde.results.tokens import fit, pad, quoted, visible
from sonde.schema.changed import Changed, FeatureMove, LayerMove, PlaceGain, TokenGain

TOKENS, PLACES, FEATURES = 8, 8, 10
"""How many of each are shown."""
LEVEL = 0.05


def changed_page(changed: Changed, width: int) -> Iterator[str]:
    """The verdict first, then tokens, places and features."""
    yield from wrap(verdict(changed), width)
    yield ""
    yield from wrap(_where(changed), width)
    yield ""
    yield fit("tokens that gained log-probability, all their places together", width)
    yield from (fit(_token(each), width) for each in changed.gained[:TOKENS])
    if changed.lost:
        yield fit("tokens that lost the most", width)
        yield from (fit(_token(each), width) for each in changed.lost[: TOKENS // 2])
    yield ""
    yield fit("places that gained the most", width)
    yield from (fit(_place(each), width) for each in changed.places[:PLACES])
    yield ""
    if told := where(changed):
        yield from wrap(told, width)
        yield ""
        yield fit("layers put back to what they were, whole, and what of the gain goes", width)
        yield from (fit(_layer(each), width) for each in whole(changed).values())
        yield ""
    if changed.features:
        yield fit("features put back to what they were, and what of the gain goes", width)
        yield from (fit(_feature(each), width) for each in changed.features[:FEATURES])
    for reason in changed.reasons:
        yield from wrap(visible(reason), width)


def verdict(changed: Changed) -> str:
    """In a sentence: how much, which token, which feature."""
    began = "the model it began as" if changed.first == 0 else f"checkpoint-{changed.first}"
    said = (
        f"From {began} to checkpoint-{changed.last}, {count(changed.tokens, 'token')} of "
        f"{count(changed.probes, 'completion')} gained {signed(changed.gain, 1)} nats together"
    )
    if changed.gained:
        best = changed.gained[0]
        said += f", the most of them {quoted(best.token)} ({signed(best.gain, 1)})"
    tried = [each for each in changed.features if each.undone is not None]
    if not tried:
        return f"{said}; no feature was put back."
    beyond = [each for each in tried if each.p_family is not None and each.p_family <= LEVEL]
    first = tried[0]
    about = (
        f"{first.layer}:{first.feature}, undoes {signed(first.undone, 2)}, corrected p "
        f"{number(first.p_family)}"
    )
    if not beyond:
        return (
            f"{said}. None of the {len(tried)} features that were put back undoes more than random "
            f"directions do; the most, {about}."
        )
    return (
        f"{said}. Of {len(tried)} features that were put back, {len(beyond)} undo more than random "
        f"directions do (corrected p ≤ {LEVEL:g}); the most, {about}."
    )


def _where(changed: Changed) -> str:
    """Which tokens of completions it was, counted from their beginning."""
    shares = ", ".join(signed(each, 1) for each in changed.by_place[:12])
    more = ", …" if len(changed.by_place) > 12 else ""
    left = f"; {count(changed.left_out, 'text')} left out" if changed.left_out else ""
    return f"by place in the completion, from its first token on: {shares}{more}{left}"


def _token(each: TokenGain) -> str:
    return f"  {pad(quoted(each.token), 16)} {signed(each.gain, 2):>9}  in {each.count:>4}"


def _place(each: PlaceGain) -> str:
    change = f"{fixed(each.before, 2)} → {fixed(each.after, 2)}"
    said = visible(each.context[-30:].replace("\n", "↵"))
    return f"  {change:>16}  {pad(quoted(each.token), 16)} after {said} ({each.generation_id})"


def _layer(each: LayerMove) -> str:
    beside = f"  random {span(each.random, 2)}" if each.random else ""
    sure = f"  corrected p {number(each.p_family)}"
    return f"  {pad(f'layer {each.layer}', 10)} {signed(each.undone, 2):>8}{beside}{sure}"


def _feature(each: FeatureMove) -> str:
    undone = MISSING if each.undone is None else signed(each.undone, 2)
    beside = f"  random {span(each.random, 2)}" if each.random else ""
    tends = MISSING if each.with_reward is None else fixed(each.with_reward.r, 2)
    return (
        f"  {pad(f'{each.layer}:{each.feature}', 10)} {undone:>8}{beside}  p {number(each.p)}, "
        f"corrected {number(each.p_family)}  "
        f"moved {signed(each.moved, 2)} at {each.places}  with R {tends}{_owed(each.reward)}"
    )


def _owed(effect: float | None) -> str:
    """What the reward owes to it, where `sonde ablate --reward` has asked."""
    return "" if effect is None else f"  removed, R {signed(effect, 2)}"
