"""Identities that hold for any backend over any weights.

Subclass `BackendIdentities` in a test module, give it the fixtures `backend` and `within`, and
pytest runs all of it. Where a backend's bits depend on the batch, `tolerance` says by how much.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from sonde.backends.base import (
    Backend,
    FromRun,
    FromVector,
    GenerateRequest,
    MeanOf,
    Row,
    Work,
    logprobs_of,
    write_at,
)
from sonde.errors import (
    BadRequest,
    HookNeverFired,
    LayerOutOfRange,
    PositionOutOfRange,
    RequestTooLarge,
    SourceRunDropped,
    UnknownHook,
    UnknownSourceRun,
)
from sonde.schema import Hook

CLEAN = "The Eiffel Tower is in the city of"
CORRUPT = "The Colosseum is in the city of"


class Prompts:
    """Two prompts on a backend, and the questions the identities ask."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self.model = backend, backend.describe()
        self.clean, self.corrupt = backend.tokenize(CLEAN), backend.tokenize(CORRUPT)
        self.ids = [backend.tokenize(text, special=False)[0] for text in (" Paris", " Rome")]

    def capture(self, run: str, tokens: Sequence[int]) -> str:
        """Everything a prompt has, under a name."""
        layers, positions = range(self.model.n_layers), range(len(tokens))
        self.backend.capture(run, tokens, self.model.layer_hooks, layers, positions)
        return run

    def sites(self, n_tokens: int) -> list[tuple[Hook, int, int]]:
        """Every hook and layer, at the first, a middle and the last position."""
        return [
            (hook, layer, position)
            for hook in self.model.layer_hooks
            for layer in range(self.model.n_layers)
            for position in sorted({0, n_tokens // 2, n_tokens - 1})
        ]

    def work(self, tokens: Sequence[int], rows: Sequence[Row]) -> Work:
        """Rows of a prompt, and the log-probabilities of both answers."""
        return Work(tokens, rows, logprobs_of(self.ids))

    def score(self, tokens: Sequence[int], rows: Sequence[Row]) -> np.ndarray:
        """[rows, ids], each row exactly once."""
        out, seen = np.full((len(rows), len(self.ids)), np.nan), list[int]()
        for part in self.backend.score([self.work(tokens, rows)]):
            out[list(part.rows)] = part.values
            seen += part.rows
        assert sorted(seen) == list(range(len(rows)))
        return out


def patches_from(run: str, sites: Sequence[tuple[Hook, int, int]], alpha: float = 1.0) -> list[Row]:
    return [
        Row((write_at(h, layer, p, FromRun(run, (p,)), alpha),), computed=True)
        for h, layer, p in sites
    ]


class BackendIdentities:
    """What any backend must satisfy."""

    tolerance = 0.0
    """In log-probability; 0 for the same bits."""

    @pytest.fixture
    def backend(self) -> Backend:
        raise NotImplementedError("give the backend under test")

    @pytest.fixture
    def within(self) -> Callable[[int], Backend]:
        """Makes a backend with room for so many bytes of source runs."""
        raise NotImplementedError("give a backend with a smaller store")

    @pytest.fixture
    def prompts(self, backend: Backend) -> Prompts:
        return Prompts(backend)

    def same(self, found: np.ndarray, expected: np.ndarray) -> bool:
        return bool((np.abs(found - expected) <= self.tolerance).all())

    # Text

    def test_the_description_agrees_with_itself(self, prompts: Prompts) -> None:
        model = prompts.model
        assert model.n_layers > 0
        assert model.layer_hooks
        assert (model.path_reason is None) == (model.path == "packed")
        assert max(prompts.clean + prompts.ids) < model.vocabulary

    def test_text_survives_the_round_trip(self, backend: Backend) -> None:
        assert backend.detokenize(backend.tokenize(CLEAN)) == CLEAN

    def test_each_token_has_an_interval_and_together_they_cover_the_text(
        self, backend: Backend
    ) -> None:
        tokens, offsets = backend.tokenize(CLEAN), backend.offsets(CLEAN)
        assert len(tokens) == len(offsets)
        covered = {i for start, end in offsets for i in range(start, end)}
        assert {i for i, letter in enumerate(CLEAN) if letter != " "} <= covered

    # Identities

    def test_an_unpatched_row_computed_is_the_baseline(self, prompts: Prompts) -> None:
        found = prompts.score(prompts.corrupt, [Row(), Row(computed=True), Row(computed=True)])
        assert self.same(found, found[0])
        assert np.isfinite(found).all()
        assert (found < 0).all()

    def test_baselines_of_several_prompts_are_what_each_scores_alone(
        self, prompts: Prompts
    ) -> None:
        both = [prompts.corrupt, prompts.clean]
        found = prompts.backend.baselines(
            [(tokens, logprobs_of(prompts.ids)) for tokens in both], prompts.model.layer_hooks
        )
        alone = [prompts.score(tokens, [Row()])[0] for tokens in both]
        assert self.same(np.array(found), np.array(alone))

    def test_a_run_patched_with_itself_is_the_baseline(self, prompts: Prompts) -> None:
        own = prompts.capture("own", prompts.corrupt)
        rows = patches_from(own, prompts.sites(len(prompts.corrupt)))
        found = prompts.score(prompts.corrupt, [Row(), *rows])
        assert self.same(found, found[0])

    def test_alpha_zero_is_the_baseline(self, prompts: Prompts) -> None:
        run = prompts.capture("clean", prompts.clean)
        n = min(len(prompts.clean), len(prompts.corrupt))
        rows = patches_from(run, prompts.sites(n), alpha=0.0)
        found = prompts.score(prompts.corrupt, [Row(), *rows])
        assert self.same(found, found[0])

    def test_a_patch_does_something(self, prompts: Prompts) -> None:
        """At every hook; the identities above would hold for patches that are ignored."""
        width, last = prompts.model.width, len(prompts.corrupt) - 1
        noise = np.random.default_rng(0).normal(size=width).astype(np.float32)
        rows = [
            Row((write_at(hook, 0, last, FromVector(noise)),)) for hook in prompts.model.layer_hooks
        ]
        found = prompts.score(prompts.corrupt, [Row(), *rows])
        assert (np.abs(found[1:] - found[0]).max(1) > max(1e-4, self.tolerance)).all()

    def test_replacing_every_position_reproduces_the_other_prompt(self, prompts: Prompts) -> None:
        n = len(prompts.corrupt)
        other = [*prompts.clean, *prompts.corrupt][:n]  # any prompt of the same length
        run = prompts.capture("clean", other)
        rows = [
            Row(tuple(write_at("pre_attn", layer, p, FromRun(run, (p,))) for p in range(n)))
            for layer in range(prompts.model.n_layers)
        ]
        found = prompts.score(prompts.corrupt, rows)
        assert self.same(found, prompts.score(other, [Row()])[0])

    def test_a_row_is_the_same_whatever_is_beside_it(self, prompts: Prompts) -> None:
        run = prompts.capture("own", prompts.corrupt)
        sites = prompts.sites(len(prompts.corrupt))
        rows = [
            Row((write_at(h, layer, p, FromRun(run, (0,))),)) for h, layer, p in sites if p != 0
        ]
        together = prompts.score(prompts.corrupt, rows)
        alone = np.concatenate([prompts.score(prompts.corrupt, [row]) for row in rows[::5]])
        assert self.same(alone, together[::5])

    def test_several_source_positions_give_their_mean(self, prompts: Prompts) -> None:
        run = prompts.capture("own", prompts.corrupt)
        mean = Row((write_at("pre_attn", 1, 2, MeanOf((FromRun(run, (2,)),) * 3)),), computed=True)
        found = prompts.score(prompts.corrupt, [Row(), mean])
        assert np.abs(found[1] - found[0]).max() <= max(1e-5, self.tolerance)

    def test_a_mask_of_nothing_is_the_baseline(self, prompts: Prompts) -> None:
        width = prompts.model.width
        values, mask = np.ones(width, dtype=np.float32), np.zeros(width, dtype=np.float32)
        rows = [
            Row((write_at(h, layer, p, FromVector(values), 1.0, mask),), computed=True)
            for h, layer, p in prompts.sites(len(prompts.corrupt))
        ]
        found = prompts.score(prompts.corrupt, [Row(), *rows])
        assert self.same(found, found[0])

    # Source runs

    def test_a_manifest_says_what_was_captured(self, prompts: Prompts) -> None:
        hooks: list[Hook] = [prompts.model.layer_hooks[0]]
        made = prompts.backend.capture("part", prompts.clean, hooks, [1], [2, 0])
        assert prompts.backend.manifests()["part"].generation == made.generation
        assert made.n_tokens == len(prompts.clean)
        assert (made.hooks, made.layers, sorted(made.positions)) == (hooks, [1], [0, 2])
        assert made.weights == prompts.model.weights
        assert made.bytes > 0
        assert made.lease_seconds is None

    def test_capturing_a_name_again_replaces_the_run_whole(self, prompts: Prompts) -> None:
        hook = prompts.model.layer_hooks[0]
        first = prompts.backend.capture("run", prompts.clean, [hook], [0, 1], [0, 1, 2])
        second = prompts.backend.capture("run", prompts.corrupt, [hook], [1], [0])
        assert second.generation != first.generation
        assert prompts.backend.manifests()["run"].layers == [1]
        patch = write_at(hook, 0, 0, FromRun("run", (0,)))
        with pytest.raises(UnknownSourceRun, match="patch source not found"):
            prompts.score(prompts.corrupt, [Row((patch,))])

    def test_a_dropped_run_is_gone_leased_or_not(self, prompts: Prompts) -> None:
        backend = prompts.backend
        prompts.capture("run", prompts.clean)
        assert backend.lease("run", "me")
        assert backend.drop("run")
        assert not backend.drop("run")
        assert not backend.lease("run", "me")
        assert not backend.release("run", "me")
        assert "run" not in backend.manifests()

    def test_a_lease_is_shown_and_given_back(self, prompts: Prompts) -> None:
        backend = prompts.backend
        prompts.capture("run", prompts.clean)
        backend.lease("run", "me")
        assert backend.manifests()["run"].lease_seconds is not None
        assert backend.release("run", "me")
        assert backend.manifests()["run"].lease_seconds is None

    def test_dropping_by_generation_spares_a_newer_run(self, prompts: Prompts) -> None:
        backend, hook = prompts.backend, prompts.model.layer_hooks[0]
        old = backend.capture("run", prompts.clean, [hook], [0], [0]).generation
        new = backend.capture("run", prompts.clean, [hook], [0], [0]).generation
        assert not backend.drop("run", old)
        assert backend.drop("run", new)

    def test_a_full_store_gives_up_the_oldest_run_that_nobody_leases(
        self, prompts: Prompts, within: Callable[[int], Backend]
    ) -> None:
        hook, tokens = prompts.model.layer_hooks[0], prompts.corrupt

        def keep(backend: Backend, run: str, positions: int = 1) -> int:
            return backend.capture(run, tokens, [hook], [0], range(positions)).bytes

        room = 2 * keep(prompts.backend, "measured")
        backend = within(room)
        keep(backend, "first")
        keep(backend, "second")
        assert backend.lease("first", "me")
        keep(backend, "third")
        assert sorted(backend.manifests()) == ["first", "third"]
        with pytest.raises(RequestTooLarge):
            keep(backend, "huge", positions=3)
        assert sorted(backend.manifests()) == ["first", "third"]
        assert sum(run.bytes for run in backend.manifests().values()) <= room
        row = Row((write_at(hook, 0, 0, FromRun("second", (0,))),))
        with pytest.raises(UnknownSourceRun, match="'second'"):
            list(backend.score([Work(tokens, [row], logprobs_of([1]))]))

    def test_giving_a_run_up_waits_for_its_leases(self, prompts: Prompts) -> None:
        backend, hook = prompts.backend, prompts.model.layer_hooks[0]
        made = backend.capture("run", prompts.clean, [hook], [0], [0]).generation
        backend.lease("run", "another sweep")
        backend.drop("run", made)
        row = Row((write_at(hook, 0, 0, FromRun("run", (0,), made)),), computed=True)
        assert np.isfinite(prompts.score(prompts.corrupt, [row])).all()
        backend.release("run", "another sweep")
        assert "run" not in backend.manifests()

    def test_an_unknown_run_is_an_error(self, prompts: Prompts) -> None:
        patch = write_at(prompts.model.layer_hooks[0], 0, 0, FromRun("nowhere", (0,)))
        with pytest.raises(UnknownSourceRun, match="patch source not found.*'nowhere'"):
            prompts.score(prompts.corrupt, [Row((patch,))])

    def test_a_replaced_run_is_not_taken_for_the_one_that_was_meant(self, prompts: Prompts) -> None:
        hook = prompts.model.layer_hooks[0]
        old = prompts.backend.capture("run", prompts.clean, [hook], [0], [0]).generation
        prompts.backend.capture("run", prompts.corrupt, [hook], [0], [0])
        patch = write_at(hook, 0, 0, FromRun("run", (0,), old))
        with pytest.raises(SourceRunDropped, match="'run'"):
            prompts.score(prompts.corrupt, [Row((patch,))])

    # Work

    def test_work_can_be_left_and_taken_up_again(self, prompts: Prompts) -> None:
        run = prompts.capture("own", prompts.corrupt)
        rows = patches_from(run, prompts.sites(len(prompts.corrupt)))
        work = prompts.backend.score([prompts.work(prompts.corrupt, rows)])
        next(iter(work))
        work.close()  # type: ignore[attr-defined]
        assert prompts.score(prompts.corrupt, [Row()]).shape == (1, 2)

    def test_no_rows_are_no_work(self, prompts: Prompts) -> None:
        assert list(prompts.backend.score([prompts.work(prompts.corrupt, [])])) == []
        assert list(prompts.backend.score([])) == []

    def test_the_cost_counts_the_rows_that_need_work(self, prompts: Prompts) -> None:
        last, n = prompts.model.n_layers - 1, len(prompts.corrupt)
        nothing = FromVector(np.zeros(0, dtype=np.float32))
        rows = [Row((write_at("post_block", last, p, nothing),)) for p in range(n)]
        cost = prompts.backend.cost([prompts.work(prompts.corrupt, rows)])
        assert cost.computed_rows == 1  # of the last layer's ends, only the last is looked at
        assert prompts.backend.cost([prompts.work(prompts.corrupt, [])]).computed_rows == 0

    def test_sites_that_do_not_exist_are_refused(self, prompts: Prompts) -> None:
        zeros = FromVector(np.zeros(prompts.model.width, dtype=np.float32))
        wrong: list[tuple[str, int, int, type[Exception]]] = [
            ("attn", 0, 0, UnknownHook),
            ("pre_attn", prompts.model.n_layers, 0, LayerOutOfRange),
            ("pre_attn", 0, len(prompts.corrupt), PositionOutOfRange),
            ("pre_attn", 0, -1, PositionOutOfRange),
        ]
        for hook, layer, position, error in wrong:
            patch = write_at(hook, layer, position, zeros)  # type: ignore[arg-type]
            with pytest.raises(error):
                prompts.score(prompts.corrupt, [Row((patch,))])

    def test_an_empty_prompt_is_refused(self, prompts: Prompts) -> None:
        with pytest.raises(BadRequest, match="no tokens"):
            prompts.score([], [Row()])

    def test_a_completions_first_token_is_scored_as_in_a_sweep(self, prompts: Prompts) -> None:
        last = len(prompts.corrupt) - 1
        values = np.random.default_rng(0).normal(size=prompts.model.width).astype(np.float32)
        patch = write_at("post_block", 0, last, FromVector(values))
        request = GenerateRequest(
            tuple(prompts.corrupt), 1, (patch,), logprob_ids=tuple(prompts.ids)
        )
        made = list(prompts.backend.generate(request))[0]
        expected = prompts.score(prompts.corrupt, [Row((patch,))])[0]
        assert self.same(np.array([made.logprobs[i] for i in prompts.ids]), expected)

    def test_a_patch_at_a_generated_position_is_one_at_the_end_of_a_longer_prompt(
        self, prompts: Prompts
    ) -> None:
        n, ids = len(prompts.corrupt), tuple(prompts.ids)
        values = np.random.default_rng(1).normal(size=prompts.model.width).astype(np.float32)
        patch = write_at("post_block", 0, n, FromVector(values))
        request = GenerateRequest(tuple(prompts.corrupt), 2, (patch,), logprob_ids=ids)
        first, second = prompts.backend.generate(request)
        expected = prompts.score([*prompts.corrupt, first.token], [Row((patch,))])[0]
        found = np.array([second.logprobs[i] for i in ids])
        assert np.abs(found - expected).max() <= max(1e-4, self.tolerance)
        unpatched = prompts.score([*prompts.corrupt, first.token], [Row()])[0]
        assert np.abs(found - unpatched).max() > max(1e-3, 10 * self.tolerance)

    def test_a_patch_that_a_completion_never_reaches_is_an_error(self, prompts: Prompts) -> None:
        zeros = FromVector(np.zeros(prompts.model.width, dtype=np.float32))
        patch = write_at("post_block", 0, len(prompts.corrupt) + 1, zeros)
        plain = GenerateRequest(tuple(prompts.corrupt), 1)
        (made,) = prompts.backend.generate(plain)
        stopped = GenerateRequest(
            tuple(prompts.corrupt), 4, (patch,), stop_ids=frozenset([made.token])
        )
        with pytest.raises(HookNeverFired, match=f"position {len(prompts.corrupt) + 1}"):
            list(prompts.backend.generate(stopped))

    def test_a_seed_gives_one_completion_and_its_log_probabilities_are_of_temperature_1(
        self, prompts: Prompts
    ) -> None:
        request = GenerateRequest(tuple(prompts.corrupt), 6, temperature=2.0, seed=7)
        first, again = (list(prompts.backend.generate(request)) for _ in range(2))
        assert [made.token for made in first] == [made.token for made in again]
        told = prompts.backend.baselines([(prompts.corrupt, logprobs_of([first[0].token]))], [])[0][
            0
        ]
        assert abs(first[0].logprob - told) <= max(1e-4, self.tolerance)

    def test_a_completion_can_be_left(self, prompts: Prompts) -> None:
        request = GenerateRequest(tuple(prompts.corrupt), 20)
        work = prompts.backend.generate(request)
        first = next(work)
        work.close()  # type: ignore[attr-defined]
        assert next(prompts.backend.generate(request)).token == first.token
