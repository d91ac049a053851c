"""What every wire type has in common: frozen, strict about names, never NaN."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _no_truth_value(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a whole number is wanted, not true or false")
    return value


Whole = Annotated[int, BeforeValidator(_no_truth_value)]
"""A whole number. `true` is not one, though Python would take it for 1."""


class Wire(BaseModel):
    """A value that crosses a wire or is written to a file.

    Unknown fields are refused, because a misspelled option that is ignored looks like one that had
    no effect. NaN and infinity are refused, because JSON has neither.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
