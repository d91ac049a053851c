"""The likeliest tokens and the tokens asked for, side by side in one batch.

vLLM's V1 sampler answers a batch in one way: when some request names token ids, every request gets
those columns, and one that wanted the likeliest tokens gets nothing, in silence. The V2 sampler
does it right. Here the V1 sampler is given the likeliest ids of those requests by name, too.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from sonde.backends.vllm.rows import kind_of


def mend_sampler(runner: Any) -> None:
    """Let requests for the likeliest tokens share a batch with requests that name theirs."""
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
