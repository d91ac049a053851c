"""What runs inside every vLLM worker: the taps, the requests they serve, and the rank's runs.

vLLM mixes `SondeWorker` into its worker class and calls its methods by name on all ranks at once;
every reply is plain data. Names that vLLM's worker might have one day are avoided by a prefix; the
three that deal with source runs are those of the patching contract. No code comes from clients.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from sonde.backends.torch.cpu import instruction_sets
from sonde.backends.torch.loading.checkpoint import refuse_non_finite
from sonde.backends.torch.loading.fingerprint import fingerprint
from sonde.backends.vllm import eager
from sonde.backends.vllm.adapters import Edges, edges_of, hooks_of
from sonde.backends.vllm.captured import RankRuns
from sonde.backends.vllm.heads import Shard
from sonde.backends.vllm.requests import Requests, Span
from sonde.backends.vllm.rows import arrivals, kind_of, watch
from sonde.backends.vllm.spec import read_spec, to_bytes
from sonde.backends.vllm.taps import Step, install
from sonde.errors import BadRequest
from sonde.schema import Hook

instruction_sets.follow_cap()  # imported before the worker's first product


@dataclass
class Rank:
    """This rank's part of the backend: it watches the steps and fills in what the taps do."""

    requests: Requests
    runs: RankRuns
    step: Step
    eager_on_demand: bool
    runner: str
    busy: bool = False
    """Whether the step at hand carries a spec."""

    def arriving(self, scheduled: Any) -> None:
        """Take new requests on, and see whether this step concerns us."""
        self.requests.leave(scheduled.finished_req_ids)
        for request, params in arrivals(scheduled):
            spec = None if params is None else read_spec(params.extra_args)
            if spec is not None:
                self.requests.arrive(request, spec)
        self.busy = self.requests.any_of(scheduled.num_scheduled_tokens)

    def stepping(self, spans: list[Span]) -> None:
        """Plan the taps of the step that is about to run."""
        if self.busy:
            self.step.work = self.requests.plan(spans)
            if self.eager_on_demand and self.runner == "V1":
                eager.this_step()

    def stepped(self) -> None:
        """Nothing is due outside a step: vLLM also runs the model for its own ends."""
        self.step.work = {}
        self.busy = False


class SondeWorker:
    """Methods that vLLM's workers gain, called on all ranks at once."""

    sonde_rank: Rank

    def sonde_install(self, eager_on_demand: bool) -> dict[str, Any]:
        """Tap the model of this rank. -> what it is and where it stands, or why it is refused."""
        worker: Any = self
        runner = worker.model_runner
        model = runner.get_model()
        try:
            where = _where(runner)
            share, shares = where["share"], _shares()
            edges, heads = edges_of(model, share, shares)
            refuse_non_finite(model.named_parameters())
        except BadRequest as error:
            return {"refused": str(error)}
        _mend_pipeline(runner)
        shard = Shard(runner.model_config.get_hidden_size(), heads, share, shares)
        self.sonde_rank = _rank(runner, edges, shard, eager_on_demand)
        if eager_on_demand and kind_of(runner) == "V2":
            eager.steps_of_v2(runner, lambda: self.sonde_rank.busy)
        _mend_sampler(runner)
        return {
            "layers": list(edges),
            "hooks": hooks_of(edges),
            "heads": None if heads is None else heads.model_dump(),
            "weights": fingerprint(model),
            **where,
        }

    def sonde_report(self, uids: list[str]) -> dict[str, Any]:
        """What came of these requests here."""
        found = self.sonde_rank.requests.report(uids)
        return {**_where(self.model_runner), "requests": found}  # type: ignore[attr-defined]

    def sonde_read(
        self, key: str, sites: list[tuple[Hook, int, list[int], int | None]]
    ) -> list[bytes | None]:
        """Rows of a run at each site, float32 end to end; None where they are not on this rank."""
        run = self.sonde_rank.runs.held.get(key)
        if run is None:
            return [None] * len(sites)
        found = [run.rows(hook, layer, positions, head) for hook, layer, positions, head in sites]
        return [None if rows is None else to_bytes(rows.numpy()) for rows in found]

    def get_patch_source_manifests(self) -> dict[str, dict[str, Any]]:
        """What this rank holds, by key."""
        return self.sonde_rank.runs.manifests()

    def lease_patch_source_runs(self, keys: list[str]) -> list[str]:
        """Which runs are in use; those of them that this rank holds."""
        return self.sonde_rank.runs.lease(keys)

    def drop_patch_source_run(self, key: str) -> bool:
        """Forget a run; whether this rank had a part of it."""
        return self.sonde_rank.runs.drop(key)


def _rank(runner: Any, edges: Edges, shard: Shard, eager_on_demand: bool) -> Rank:
    runs, step = RankRuns(), Step()
    requests = Requests(runs, edges, shard, runner.model_config.dtype, runner.device)
    rank = Rank(requests, runs, step, eager_on_demand, kind_of(runner))
    install(edges, step)
    watch(runner, rank)
    return rank


def _where(runner: Any) -> dict[str, Any]:
    """Which stage of the pipeline, and which share of the tensors, this rank is."""
    from vllm.distributed.parallel_state import get_pp_group, get_tp_group

    return {
        "stage": get_pp_group().rank_in_group,
        "share": get_tp_group().rank_in_group,
        "runner": kind_of(runner),
        "device": torch.device(runner.device).type,
    }


def _shares() -> int:
    """Among how many ranks the tensors are dealt out."""
    from vllm.distributed.parallel_state import get_tp_group

    shares: int = get_tp_group().world_size
    return shares


def _mend_pipeline(runner: Any) -> None:
    """Give a later stage the buffers it receives into.

    On a CPU without compilation nothing in vLLM 0.32 makes them, and the first step would fail.
    """
    from vllm.distributed.parallel_state import get_pp_group

    if get_pp_group().is_first_rank or getattr(runner, "intermediate_tensors", None) is not None:
        return
    runner.intermediate_tensors = runner.get_model().make_empty_intermediate_tensors(
        batch_size=runner.max_num_tokens, dtype=runner.model_config.dtype, device=runner.device
    )


def _mend_sampler(runner: Any) -> None:
    """Let requests for the likeliest tokens share a batch with requests that name theirs.

    vLLM's V1 sampler answers a batch in one way: when some request names token ids, every request
    gets those columns, and one that wanted the likeliest tokens gets nothing, in silence. The V2
    sampler does it right. The V1 sampler is given the likeliest ids of those requests by name, too.
    """
    if kind_of(runner) == "V2" or not hasattr(runner, "sampler"):
        return
    sampler = runner.sampler
    gather = sampler.gather_specific_token_logprobs

    def gathered(logprobs: Tensor, named: dict[int, list[int]], sampled: Tensor) -> Any:
        batch = runner.input_batch
        counts = {batch.req_id_to_index[r]: k for r, k in batch.num_logprobs.items()}
        return gather(logprobs, with_likeliest(logprobs, named, counts), sampled)

    sampler.gather_specific_token_logprobs = gathered


def with_likeliest(
    logprobs: Tensor, named: Mapping[int, list[int]], counts: Mapping[int, int]
) -> dict[int, list[int]]:
    """The named ids by row, and for rows that want their `counts` likeliest instead, those."""
    wanted = {row: count for row, count in counts.items() if row not in named and count > 0}
    found = {
        row: logprobs[row].topk(min(count, logprobs.shape[-1])).indices.tolist()
        for row, count in wanted.items()
    }
    return {**named, **found}
