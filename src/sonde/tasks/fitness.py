"""What is wrong with a pair as text: no model is asked."""

from sonde.prompts import find_matches
from sonde.schema.pair import PromptPair, RoleSpans
from sonde.schema.prompt import Answer, Answers, Prompt

END = "end"
"""The role that is the end of a prompt, wherever else its words stand."""
MOST_CHARACTERS = 100_000
_SHOWN = 60


def trouble(pair: PromptPair) -> str | None:
    """Why a pair cannot be swept, or None."""
    for which, prompt in (("clean", pair.clean), ("corrupt", pair.corrupt)):
        if isinstance(prompt, str) and not prompt.strip():
            return f"the {which} prompt is empty"
        if len(prompt) > MOST_CHARACTERS:
            return f"the {which} prompt is longer than {MOST_CHARACTERS:,}: {len(prompt):,}"
    if pair.clean == pair.corrupt:
        return "the clean and the corrupt prompt are the same"
    both = set(listed(pair.answer)) & set(listed(pair.foil))
    if both:
        return f"{next(iter(both))!r} is answer and foil"
    return next((why for name in pair.roles if (why := role_trouble(pair, name))), None)


def role_trouble(pair: PromptPair, name: str) -> str | None:
    """Why a role does not point at one place in each prompt, or None."""
    role = pair.roles[name]
    spans = role if isinstance(role, RoleSpans) else RoleSpans(clean=role, corrupt=role)
    sides = (("clean", spans.clean, pair.clean), ("corrupt", spans.corrupt, pair.corrupt))
    for which, span, prompt in sides:
        why = _absent(name, span, prompt)
        if why:
            return f"role {name!r}: {span[:_SHOWN]!r} {why} the {which} prompt"
    return None


def listed(answers: Answers | None) -> list[Answer]:
    """One answer or several, as several."""
    if answers is None:
        return []
    return answers if isinstance(answers, list) else [answers]


def same_question(pair: PromptPair) -> str:
    """Equal for pairs that ask the same: roles and clusters are not part of it."""
    return pair.model_dump_json(include={"clean", "corrupt", "answer", "foil"})


def _absent(name: str, span: str, prompt: Prompt) -> str | None:
    if not isinstance(prompt, str):
        return "is text, and there are only token ids in"
    if name == END and prompt.endswith(span):
        return None
    times = len(find_matches(span, prompt))
    if times == 1:
        return None
    return f"is {times} times in" if times else "is not in"
