"""Which field a refusal is about: OpenAI's error body names it."""

from collections.abc import Iterator
from contextlib import contextmanager

from sonde.errors import RequestError
from sonde.server.errors import OpenAIError, answer_to


@contextmanager
def blaming(param: str, where: str = "") -> Iterator[None]:
    """What is refused inside the block is refused because of `param`, at `where` in it."""
    try:
        yield
    except RequestError as error:
        said = str(error)
        if where and not said.startswith(where):
            said = f"{where}: {said}"
        row = answer_to(error)
        raise OpenAIError(said, status=row.at_openai or row.status, param=param) from None
