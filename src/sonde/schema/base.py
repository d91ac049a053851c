"""What every wire type has in common: frozen, strict about names, never NaN."""

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """A value that crosses a wire or is written to a file.

    Unknown fields are refused, because a misspelled option that is ignored looks like one that had
    no effect. NaN and infinity are refused, because JSON has neither.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
