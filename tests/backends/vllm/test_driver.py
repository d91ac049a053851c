"""One engine, many jobs and threads: outputs wait for their owner, and a dead engine stays dead."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm")
pytestmark = pytest.mark.vllm

from sonde.backends.vllm.driver import Driver  # noqa: E402
from sonde.backends.vllm.spec import ARGUMENT, RequestSpec, WriteSpec  # noqa: E402
from sonde.errors import EngineError, EngineLost  # noqa: E402

PATCHED = RequestSpec("a", (WriteSpec("mlp_in", 0, (0,), ()),))


class Engine:
    """Gives every request one output a step, the second of them the last."""

    def __init__(self) -> None:
        self.requests: dict[str, int] = {}
        self.prompts: dict[str, Any] = {}
        self.called: list[Any] = []
        self.failing: Exception | None = None
        self.reason: str | None = None
        self.in_step = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()
        resources = SimpleNamespace(engine_dead=False)
        self.engine_core = SimpleNamespace(resources=resources, shutdown=lambda: None)

    def add_request(self, uid: str, prompt: Any, params: Any) -> None:
        self.requests[uid], self.prompts[uid] = 0, prompt

    def has_unfinished_requests(self) -> bool:
        return bool(self.requests)

    def abort_request(self, uids: list[str]) -> None:
        for uid in uids:
            self.requests.pop(uid, None)

    def step(self) -> list[Any]:
        self.in_step.set()
        self.go_on.wait(10)
        if self.failing is not None:
            raise self.failing
        out = []
        for uid, made in list(self.requests.items()):
            last = made == 1
            part = SimpleNamespace(finish_reason=self.reason if last else None)
            out.append(SimpleNamespace(request_id=uid, finished=last, outputs=[part], step=made))
            self.requests[uid] = made + 1
            if last:
                del self.requests[uid]
        return out

    def collective_rpc(self, method: str, args: Any = ()) -> list[Any]:
        self.called.append((method, *args))
        return ["reply"]


@pytest.fixture
def engine() -> Engine:
    return Engine()


@pytest.fixture
def driver(engine: Engine) -> Driver:
    return Driver(engine)


def submit(driver: Driver, uid: str, spec: RequestSpec | None = None) -> Any:
    params = SimpleNamespace(extra_args=None)
    driver.submit(spec, uid, [1, 2], params)
    return params


def test_a_step_moves_everybody_on_and_outputs_wait_for_their_owner(driver: Driver) -> None:
    submit(driver, "a")
    submit(driver, "b")
    driver.advance()
    driver.advance()
    assert [output.step for output in driver.take("a")] == [0, 1]
    assert driver.take("a") == []
    assert [output.step for output in driver.take("b")] == [0, 1]


def test_a_request_carries_its_spec(driver: Driver) -> None:
    assert submit(driver, "a", PATCHED).extra_args == {ARGUMENT: PATCHED.to_plain()}
    assert submit(driver, "b").extra_args is None


def test_with_another_scheduler_patched_requests_are_salted(engine: Engine) -> None:
    salted = Driver(engine, salted=True)
    submit(salted, "a", PATCHED)
    submit(salted, "b", RequestSpec("b"))
    assert engine.prompts["a"]["cache_salt"] == "a"
    assert "cache_salt" not in engine.prompts["b"]


def test_a_request_that_was_stopped_gives_nothing_and_is_forgotten_by_the_ranks(
    driver: Driver, engine: Engine
) -> None:
    submit(driver, "a")
    submit(driver, "b")
    driver.advance()
    driver.abort(["a"])
    assert driver.take("a") == []
    assert list(engine.requests) == ["b"]
    assert engine.called == [("sonde_report", ["a"])]
    driver.abort(["a"])
    assert len(engine.called) == 1


def test_news_from_another_thread_waits_for_the_step_and_not_the_thread(
    driver: Driver, engine: Engine
) -> None:
    submit(driver, "a")
    engine.go_on.clear()
    engine.in_step.clear()
    stepping = threading.Thread(target=driver.advance)
    stepping.start()
    assert engine.in_step.wait(10)
    driver.tell("drop_patch_source_run", "k")  # returns although the engine is at work
    assert engine.called == []
    engine.go_on.set()
    stepping.join(10)
    driver.call("get_patch_source_manifests")
    assert engine.called == [("drop_patch_source_run", "k"), ("get_patch_source_manifests",)]


def test_news_is_delivered_at_once_when_nobody_is_driving(driver: Driver, engine: Engine) -> None:
    driver.tell("drop_patch_source_run", "k")
    assert engine.called == [("drop_patch_source_run", "k")]


@pytest.mark.parametrize("kind", [RuntimeError, OSError, Exception])
def test_a_step_that_fails_ends_the_engine_for_good(
    driver: Driver, engine: Engine, kind: type[Exception]
) -> None:
    """What failed in another process comes as a bare Exception."""
    submit(driver, "a")
    engine.failing = kind("worker died")
    with pytest.raises(EngineLost, match="worker died"):
        driver.advance()
    engine.failing = None
    for call in (driver.check_alive, driver.advance, lambda: submit(driver, "b")):
        with pytest.raises(EngineLost, match="worker died"):
            call()
    driver.abort(["a"])  # a job that is closed afterwards raises nothing more
    driver.tell("drop_patch_source_run", "k")


def test_an_error_that_is_not_the_engines_stays_what_it_is(driver: Driver, engine: Engine) -> None:
    submit(driver, "a")
    engine.failing = ZeroDivisionError("a mistake of ours")
    with pytest.raises(ZeroDivisionError):
        driver.advance()
    with pytest.raises(EngineLost, match="a step of it failed"):
        driver.check_alive()


def test_an_engine_whose_process_ended_between_steps_is_noticed(
    driver: Driver, engine: Engine
) -> None:
    engine.engine_core.resources.engine_dead = True
    with pytest.raises(EngineLost, match="process"):
        driver.check_alive()


def test_a_request_that_vllm_gave_up_is_an_error(driver: Driver, engine: Engine) -> None:
    submit(driver, "a")
    engine.reason = "error"
    driver.advance()
    driver.advance()
    with pytest.raises(EngineError, match="'error'"):
        driver.take("a")


def test_a_lost_request_is_an_error_and_not_an_endless_wait(driver: Driver) -> None:
    with pytest.raises(EngineError, match="lost"):
        driver.advance()
