"""Why a model could not be loaded, in one line that says what to try next."""

from difflib import get_close_matches

from sonde.backends.torch.loading.aliases import ALIASES
from sonde.errors import UnknownModel

LONGEST = 300


def one_line(error: BaseException) -> str:
    """An error's message on one line; libraries write paragraphs, and a terminal wants the gist."""
    line = " ".join(str(error).split()) or type(error).__name__
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def unknown_model(name: str, reason: str) -> UnknownModel:
    """The error for a name that leads nowhere, with everything that would have led somewhere."""
    near = get_close_matches(name, ALIASES, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return UnknownModel(
        f"cannot find a model named {name!r}: {reason}.{hint} A model is an alias "
        f"({', '.join(ALIASES)}), a Hugging Face id, a model directory, a PEFT adapter directory "
        "or a .gguf file"
    )
