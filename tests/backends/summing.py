"""Identities of writes beyond one position set to one activation: sets, sums, and writes that add.

The rest of the suite comes with them: `CompletionIdentities` is a `WriteIdentities`.
"""

import numpy as np
import pytest

from sonde.backends.base import (
    FromRun,
    FromVector,
    Minus,
    Row,
    Site,
    Write,
    write_at,
)
from sonde.errors import BadRequest, UnknownSourceRun
from tests.backends.suite import BackendIdentities, Prompts, patches_from


class WriteIdentities(BackendIdentities):
    """What any backend must satisfy of writes."""

    def test_adding_nothing_is_the_baseline(self, prompts: Prompts) -> None:
        own = prompts.capture("own", prompts.corrupt)
        zeros = FromVector(np.zeros(prompts.model.width, dtype=np.float32))
        rows = []
        for hook, layer, p in prompts.sites(len(prompts.corrupt)):
            same = FromRun(own, (p,))
            for source in (zeros, Minus(same, same)):
                write = Write(Site(hook, layer, (p,)), source, how="add")
                rows.append(Row((write,), computed=True))
        found = prompts.score(prompts.corrupt, [Row(), *rows])
        assert self.same(found, found[0])

    def test_adding_the_difference_of_two_runs_is_setting_to_the_other(
        self, prompts: Prompts
    ) -> None:
        n = len(prompts.corrupt)
        clean = prompts.capture("clean", [*prompts.clean, *prompts.corrupt][:n])
        own = prompts.capture("own", prompts.corrupt)
        for hook, layer, p in prompts.sites(n)[::3]:
            there, here = FromRun(clean, (p,)), FromRun(own, (p,))
            added = Write(Site(hook, layer, (p,)), Minus(there, here), how="add")
            rows = [Row((write_at(hook, layer, p, there),)), Row((added,))]
            found = prompts.score(prompts.corrupt, rows)
            assert np.abs(found[0] - found[1]).max() <= max(1e-3, 2 * self.tolerance)

    def test_one_write_at_several_positions_is_as_many_writes(self, prompts: Prompts) -> None:
        n, hook = len(prompts.corrupt), prompts.model.layer_hooks[0]
        run = prompts.capture("clean", [*prompts.clean, *prompts.corrupt][:n])
        where = (n - 1, 1, 3)
        together = Row((Write(Site(hook, 1, where), FromRun(run, where)),))
        apart = Row(tuple(write_at(hook, 1, p, FromRun(run, (p,))) for p in where))
        found = prompts.score(prompts.corrupt, [together, apart])
        assert self.same(found[0], found[1])

    def test_a_source_may_be_another_site_of_its_run(self, prompts: Prompts) -> None:
        run = prompts.capture("own", prompts.corrupt)
        p = len(prompts.corrupt) - 2
        first, second = FromRun(run, (p,), hook="post_block", layer=0), FromRun(run, (p,))
        rows = [Row((write_at("pre_attn", 1, p, source),), True) for source in (first, second)]
        found = prompts.score(prompts.corrupt, [Row(), *rows])
        assert self.same(found, found[0])  # what leaves layer 0 is what enters layer 1

    def test_what_was_captured_can_be_read_and_written_back(self, prompts: Prompts) -> None:
        run, last = prompts.capture("own", prompts.corrupt), len(prompts.corrupt) - 1
        sites = [Site(hook, 1, (last, 0)) for hook in prompts.model.layer_hooks]
        values = prompts.backend.read(run, sites)
        assert [each.shape for each in values] == [(2, prompts.model.width)] * len(sites)
        rows = [
            Row((Write(site, FromVector(each)),), computed=True)
            for site, each in zip(sites, values, strict=True)
        ]
        found = prompts.score(prompts.corrupt, [Row(), *rows])
        assert self.same(found, found[0])

    def test_reading_what_was_not_captured_is_an_error(self, prompts: Prompts) -> None:
        hook = prompts.model.layer_hooks[0]
        prompts.backend.capture("part", prompts.clean, [hook], [1], [0])
        with pytest.raises(UnknownSourceRun, match="patch source not found"):
            prompts.backend.read("part", [Site(hook, 0, (0,))])
        with pytest.raises(UnknownSourceRun, match="'nowhere'"):
            prompts.backend.read("nowhere", [Site(hook, 0, (0,))])

    def test_several_prompts_at_once_are_each_what_they_are_alone(self, prompts: Prompts) -> None:
        run = prompts.capture("clean", prompts.clean)
        n = min(len(prompts.clean), len(prompts.corrupt))
        rows = [Row(), *patches_from(run, prompts.sites(n)[::4])]
        both = [prompts.work(tokens, rows) for tokens in (prompts.corrupt, prompts.clean)]
        found = [np.full((len(rows), 2), np.nan) for _ in both]
        for part in prompts.backend.score(both):
            found[part.work][list(part.rows)] = part.values
        for work, values in zip(both, found, strict=True):
            assert self.same(values, prompts.score(work.tokens, rows))

    def test_too_few_source_positions_are_refused(self, prompts: Prompts) -> None:
        run, hook = prompts.capture("clean", prompts.clean), prompts.model.layer_hooks[0]
        write = Write(Site(hook, 0, (0, 1)), FromRun(run, (0,)))
        with pytest.raises(BadRequest, match="at 2 positions takes 1"):
            prompts.score(prompts.corrupt, [Row((write,))])
