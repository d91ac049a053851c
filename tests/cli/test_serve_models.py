"""Further models of `sonde serve`: what may be offered, and where each is."""

from pathlib import Path

import pytest

import sonde
from sonde.cli.progress import progress
from sonde.cli.serve_models import check_offered, offered
from sonde.errors import BadRequest, UnknownModel
from sonde.runs.hub import Hub
from sonde.runs.layout import RunLayout
from tests.scripted import Scripted
from tests.tiny_model import save_tiny_model


@pytest.mark.parametrize(
    ("models", "roots", "memory", "backend", "said"),
    [
        ((), (Path("a"),), None, "torch", "--model-root is about models beside a first one"),
        ((), (), "8GiB", "torch", "--model-memory is about models beside a first one"),
        (("a", "b"), (), None, "vllm", "--model 'b': a vLLM engine holds one model"),
        (("a",), (Path("a"),), None, "vllm", "--model-root is for --backend torch"),
        (("a",), (Path("none"),), None, "torch", "--model-root 'none': there is no such directory"),
        (("a",), (), "8", "torch", None),
        (("a",), (), "much", "torch", "--model-memory 'much' is not a size"),
    ],
)
def test_what_cannot_be_offered_is_refused_by_its_option(
    models: tuple[str, ...], roots: tuple[Path, ...], memory: str | None, backend: str,
    said: str | None,
) -> None:  # fmt: skip
    if said is None:
        assert check_offered(models, roots, memory, backend) == 8
        return
    with pytest.raises(BadRequest, match=said):
        check_offered(models, roots, memory, backend)


def test_each_is_found_before_anybody_asks_for_it(tmp_path: Path) -> None:
    first, second = (str(save_tiny_model(tmp_path / name)) for name in ("a", "b"))
    model, hub = sonde.load(first, device="cpu"), Hub(RunLayout(tmp_path))
    with progress("loading") as shown:
        made = offered(model, [first, second], [], None, hub, {"device": "cpu"}, shown)
        assert made["names"].find(second).source == second
        assert made["model_bytes"] > 2**28
        with pytest.raises(UnknownModel, match="there is no file or directory"):
            offered(model, [first, "./none"], [], None, hub, {}, shown)
        with pytest.raises(BadRequest, match="is less than .* takes, which stays"):
            offered(model, [first], [], 1000, hub, {}, shown)


def test_an_engine_in_other_processes_offers_nothing_else(tmp_path: Path) -> None:
    class Engined(Scripted):
        def describe(self):  # type: ignore[no-untyped-def]
            return super().describe().model_copy(update={"backend": "vllm"})

    hub = Hub(RunLayout(tmp_path))
    with progress("loading") as shown:
        assert offered(sonde.Model(Engined()), ["a"], [], None, hub, {}, shown) == {}
