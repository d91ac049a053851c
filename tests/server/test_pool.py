"""Models of a server are loaded once, shared, leased and evicted, within their bytes."""

import gc
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sonde.backends.base import Backend
from sonde.engine.tables import sweep_table
from sonde.errors import BadRequest, RequestTooLarge, UnknownModel, UnknownSourceRun
from sonde.schema.sweep import Loading
from sonde.schema.table import SweepRequest
from sonde.server.jobs import PAUSE, JobThread
from sonde.server.pool import Pool, ServedModel
from tests.scripted import Scripted
from tests.server.checkpoints import Pooled, a_run, an_adapter, in_process, pooled
from tests.tiny_model import save_tiny_model

NAMES = [f"one@checkpoint-{step}" for step in (20, 40, 60)]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Pooled]:
    """Room for the default and one more."""
    a_run(tmp_path)
    with pooled(tmp_path, room=2) as made:
        yield made


def three(served: ServedModel) -> Iterator[ServedModel]:
    """A job of three turns."""
    for _ in range(3):
        yield served


def job(pool: Pool, name: str, **options: Any) -> Iterator[Any]:
    return pool.run(pool.find(name), three, **options)


def to_its_end(work: Iterator[Any]) -> list[Any]:
    return [each for each in work if each is not PAUSE]


def first_of(work: Iterator[Any]) -> Any:
    return next(each for each in work if each is not PAUSE)


def told(backend: Backend) -> list[Any]:
    """All that a sweep of a prompt against zeros tells, but for its times."""
    request = SweepRequest(corrupt="The Eiffel Tower is", answer=" in", source="zero")
    return [event.model_dump(exclude={"timing"}) for event in sweep_table(backend, request)]


def test_a_model_is_loaded_when_it_is_asked_for_and_is_the_one_there_is_in_process(
    here: Pooled, tmp_path: Path
) -> None:
    served = to_its_end(job(here.pool, NAMES[0]))[0]
    alone = in_process(tmp_path / "one" / "checkpoint-20").describe()
    assert served.backend.describe() == alone.model_copy(update={"name": NAMES[0]})
    assert to_its_end(job(here.pool, NAMES[0])) == [served] * 3
    assert here.loader.loaded == [NAMES[0]]


def test_the_one_used_least_recently_goes_and_its_memory_with_it(here: Pooled) -> None:
    served = to_its_end(job(here.pool, NAMES[0]))[0]
    gone = weakref.ref(served.backend.model)
    del served
    for name in [*NAMES[1:], *NAMES]:
        to_its_end(job(here.pool, name))
        assert here.loader.held([each.backend for each in here.pool.all_loaded()]) <= 2 * here.size
    gc.collect()
    assert gone() is None
    assert here.loader.most <= 2 * here.size
    assert here.loader.loaded == [*NAMES, *NAMES]
    assert [served.source.name for served in here.pool.all_loaded()][1:] == [NAMES[2]]


def test_a_model_that_is_in_use_stays_and_who_needs_its_room_waits(here: Pooled) -> None:
    using, waiting = job(here.pool, NAMES[0]), job(here.pool, NAMES[1])
    served = first_of(using)
    assert [next(waiting) for _ in range(20)] == [PAUSE] * 20
    assert to_its_end(using) == [served] * 2
    assert len(to_its_end(waiting)) == 3


def test_a_request_that_waits_is_not_overtaken_by_those_who_use_what_is_there(here: Pooled) -> None:
    using, waiting = job(here.pool, NAMES[0]), job(here.pool, NAMES[1])
    first_of(using)
    assert next(waiting) is PAUSE
    later = job(here.pool, NAMES[0])
    assert [next(later) for _ in range(5)] == [PAUSE] * 5
    to_its_end(using)
    assert len(to_its_end(waiting)) == len(to_its_end(later)) == 3


def test_the_default_is_there_at_once_while_others_wait(here: Pooled) -> None:
    first_of(using := job(here.pool, NAMES[0]))
    next(waiting := job(here.pool, NAMES[1]))
    default = here.pool.default
    assert list(here.pool.run(default.source, three)) == [default] * 3
    assert using is not waiting


def test_a_model_that_two_need_is_loaded_once_and_both_hear_how_that_goes(here: Pooled) -> None:
    heard: tuple[list[Loading], list[Loading]] = ([], [])
    jobs = [job(here.pool, NAMES[0], tell=each.append) for each in heard]
    ended: list[int] = []
    while len(ended) < 2:
        for i, each in enumerate(jobs):
            if next(each, None) is None and i not in ended:
                ended.append(i)
    assert here.loader.loaded == [NAMES[0]]
    assert {each.model for each in heard[0]} == {NAMES[0]}
    assert any("loading" in each.message for each in heard[0])
    assert heard[1] == heard[0][: len(heard[1])] != []


def test_loading_is_given_up_with_the_last_who_waits_and_begun_anew_by_the_next(
    here: Pooled,
) -> None:
    first, second = job(here.pool, NAMES[0]), job(here.pool, NAMES[0])
    for each in (first, second, first, second):
        assert next(each) is PAUSE
    first.close()  # type: ignore[attr-defined]
    assert here.pool._load is not None
    second.close()  # type: ignore[attr-defined]
    assert here.pool._load is None
    assert len(to_its_end(job(here.pool, NAMES[0]))) == 3


def test_a_lease_ends_with_its_job_however_that_ends(here: Pooled) -> None:
    for end in ("close", "raise", "end"):
        work = job(here.pool, NAMES[0])
        served = first_of(work)
        assert served.leases == 1
        if end == "raise":
            with pytest.raises(ZeroDivisionError):
                work.throw(ZeroDivisionError())  # type: ignore[attr-defined]
        elif end == "close":
            work.close()  # type: ignore[attr-defined]
        to_its_end(work)
        assert served.leases == 0


def test_one_that_cannot_be_loaded_says_why_to_all_who_wait_and_the_others_go_on(
    here: Pooled, tmp_path: Path
) -> None:
    using = job(here.pool, NAMES[1])
    first_of(using)
    bad = tmp_path / "one" / "checkpoint-20" / "model.safetensors"
    bad.write_bytes(bad.read_bytes()[:-100])
    waiting = [job(here.pool, NAMES[0]) for _ in range(2)]
    for each in waiting:
        next(each)
    to_its_end(using)
    for each in waiting:
        with pytest.raises(BadRequest, match=r"cannot load .*checkpoint-20"):
            to_its_end(each)
    assert here.loader.loaded == [NAMES[1], NAMES[0]]
    assert len(to_its_end(job(here.pool, NAMES[2]))) == 3


def test_one_that_never_fits_is_refused_with_its_bytes(tmp_path: Path) -> None:
    a_run(tmp_path)
    with (
        pooled(tmp_path, room=1.5) as here,
        pytest.raises(RequestTooLarge, match="--model-memory") as refused,
    ):
        to_its_end(job(here.pool, NAMES[0]))
    assert refused.value.needed_bytes == pytest.approx(2 * here.size, rel=0.01)
    assert refused.value.budget_bytes == int(1.5 * here.size)


def test_adapters_share_what_they_leave_as_it_is_with_their_base_and_one_another(
    tmp_path: Path,
) -> None:
    run = tmp_path / "one"
    for step in (20, 40):
        an_adapter(run / f"checkpoint-{step}", tmp_path / "base", seed=step)
    with pooled(tmp_path, room=9) as here:
        one, two = (to_its_end(job(here.pool, name))[0] for name in NAMES[:2])
        base = here.pool.default.backend
        held = here.loader.held([base, one.backend, two.backend])
        assert held < 2 * here.size, "q and v of two layers are all that differ"
        for served, step in ((one, 20), (two, 40)):
            alone = in_process(run / f"checkpoint-{step}")
            assert served.backend.describe().weights == alone.describe().weights
            assert told(served.backend) == told(alone)
        mine, its = one.backend.model.model.layers[0], base.model.model.layers[0]  # type: ignore[attr-defined]
        assert mine.mlp.up_proj.weight is its.mlp.up_proj.weight
        assert mine.self_attn.q_proj.weight is not its.self_attn.q_proj.weight


def test_what_belongs_to_a_model_goes_when_it_goes(here: Pooled) -> None:
    served = to_its_end(job(here.pool, NAMES[0]))[0]
    served.backend.capture("kept", [1, 2], ["post_block"], [0], [0])
    for name in NAMES[1], NAMES[0]:
        to_its_end(job(here.pool, name))
    again = to_its_end(job(here.pool, NAMES[0]))[0]
    assert again is not served
    with pytest.raises(UnknownSourceRun, match="'kept'"):
        again.backend.read("kept", [])
    assert here.pool.vectors(again.source) == {}


def test_the_default_is_meant_by_none_by_its_name_and_by_its_directory(
    here: Pooled, tmp_path: Path
) -> None:
    pool = here.pool
    own = str(tmp_path / "base")
    for name in (None, own):
        assert pool.find(name) == pool.default.source
    assert pool.find_or_default("gpt-4") == pool.default.source
    assert pool.find_or_default(NAMES[0]).name == NAMES[0]
    with pytest.raises(UnknownModel, match=r"'gpt-4' does not exist here; there are: .*one@check"):
        pool.find("gpt-4")


def test_the_listing_has_what_is_loaded_first_and_then_what_can_be(
    here: Pooled, tmp_path: Path
) -> None:
    to_its_end(job(here.pool, NAMES[1]))
    found = {entry.id: entry.loaded for entry in here.pool.listing(0)}
    assert found == {str(tmp_path / "base"): True, NAMES[1]: True, NAMES[0]: False, NAMES[2]: False}
    assert here.pool.entry(NAMES[0], 0).max_model_len is None


def test_without_a_loader_there_is_one_model_and_the_refusal_says_so() -> None:
    class Engined(Scripted):
        def describe(self):  # type: ignore[no-untyped-def]
            return super().describe().model_copy(update={"backend": "vllm"})

    engine = JobThread()
    try:
        with pytest.raises(UnknownModel, match="'scripted' is loaded$"):
            Pool(Scripted(), engine).find("other")
        with pytest.raises(UnknownModel, match="a vLLM engine holds no other"):
            Pool(Engined(), engine).find("other")
    finally:
        engine.stop(0)


def test_models_below_a_root_are_called_by_their_place_there(tmp_path: Path) -> None:
    save_tiny_model(tmp_path / "models" / "a" / "small", seed=3)
    (tmp_path / "runs").mkdir()
    with pooled(tmp_path / "runs", room=2, roots=[tmp_path / "models"]) as here:
        assert "a/small" in [entry.id for entry in here.pool.listing(0)]
        served = to_its_end(job(here.pool, "a/small"))[0]
        assert served.backend.describe().name == "a/small"
        whole = here.pool.find(str(tmp_path / "models" / "a" / "small"))
        assert here.pool.loaded(whole) is served
