"""Patching studies against a server.

study = PatchStudy(model="smollm2", base_url="http://127.0.0.1:8091/v1")
result = await study.sweep_layers_positions(
    "The Colosseum is in the city of", clean_prompt="The Eiffel Tower is in the city of",
    layers=range(30), positions="all_prompt", answer_token=" Paris", server_side=True,
)
result.argmax_cell()
result.sweep.save("sweep.html")

The names are those of the patching client that people know, so that a study moves over by changing
an import; what only Sonde's server answers is in `Server`. Neither torch nor `openai` is needed.
Code without `await` has `sonde.client.sync`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, overload

from sonde.client.asking import Grid, body_of, cell_by_cell, from_run, from_vector
from sonde.client.blocking import wait_for
from sonde.client.cells import sweep_cells
from sonde.client.completions import capture
from sonde.client.http import Connection, Refused, segment
from sonde.client.result import CleanRun, SweepResult, results_of
from sonde.client.server import Server, about, whole
from sonde.client.stream import Message
from sonde.client.sweeping import run_sweep
from sonde.client.tokens import PositionsLike, Tokenizer, wire_positions
from sonde.client.vectors import pack_vectors
from sonde.prompts import Span
from sonde.schema import Capabilities, PatchSweepRequest

OnCell = Callable[[dict[str, Any]], None]
"""Hears each `cell` event as it comes, those without a number included."""
Results = dict[str, SweepResult]
"""By hook, in the order asked for."""


class PatchStudy(Server):
    """One model on one server."""

    pack_vectors = staticmethod(pack_vectors)

    def __init__(
        self,
        *,
        model: str,
        base_url: str = "http://localhost:8000/v1",
        api_key: str | None = "unused",
        concurrency: int = 16,
        hook: str = "post_block",
        logprobs: int = 20,
    ) -> None:
        """`concurrency` is how many cells are under way at once when they are asked one by one."""
        super().__init__(base_url, api_key)
        self.model = model
        self.concurrency = concurrency
        self.hook = hook
        self.logprobs = logprobs

    def capture_clean(
        self,
        prompt: str,
        *,
        run: str,
        layers: Sequence[int] | Literal["all"] = "all",
        hook: str | None = None,
        positions: Sequence[int] | Literal["all_prompt", "last_prompt"] = "all_prompt",
        answer_token: str | None = None,
        foil_token: str | None = None,
    ) -> CleanRun:
        """Run a prompt once and keep its activations at one hook, on the server, as `run`."""

        async def work() -> CleanRun:
            async with self.connection() as connection:
                return await capture(
                    connection,
                    self.model,
                    CleanRun(run, 0, hook or self.hook, answer_token, prompt=prompt),
                    layers=layers if isinstance(layers, str) else list(layers),
                    positions=positions if isinstance(positions, str) else list(positions),
                    foil=foil_token,
                )

        return wait_for(work())

    async def positions_for(
        self, prompt: str, span: str | Span, *, occurrence: int = 0
    ) -> list[int]:
        """The positions of the tokens that share a character with a piece of the prompt."""
        wanted = span if isinstance(span, Span) else Span(span, occurrence)
        async with self.connection() as connection:
            tokenizer = Tokenizer(connection, self.model)
            return await tokenizer.positions(prompt, wire_positions([wanted]))

    @overload
    async def sweep_layers_positions(
        self, corrupt_prompt: str, *, run: str | None = None, layers: Iterable[int],
        positions: PositionsLike, hook: str | None = None, alpha: float = 1.0, answer_token: str,
        foil_token: str | None = None, metric: str = "logprob", clean: CleanRun | None = None,
        clean_prompt: str | None = None, server_side: bool = False, hooks: None = None,
        keep_source: bool = False, on_cell: OnCell | None = None,
    ) -> SweepResult: ...  # fmt: skip
    @overload
    async def sweep_layers_positions(
        self, corrupt_prompt: str, *, run: str | None = None, layers: Iterable[int],
        positions: PositionsLike, hook: str | None = None, alpha: float = 1.0, answer_token: str,
        foil_token: str | None = None, metric: str = "logprob", clean: CleanRun | None = None,
        clean_prompt: str | None = None, server_side: bool = False, hooks: Sequence[str],
        keep_source: bool = False, on_cell: OnCell | None = None,
    ) -> Results: ...  # fmt: skip
    async def sweep_layers_positions(
        self,
        corrupt_prompt: str,
        *,
        run: str | None = None,
        layers: Iterable[int],
        positions: PositionsLike,
        hook: str | None = None,
        alpha: float = 1.0,
        answer_token: str,
        foil_token: str | None = None,
        metric: str = "logprob",
        clean: CleanRun | None = None,
        clean_prompt: str | None = None,
        server_side: bool = False,
        hooks: Sequence[str] | None = None,
        keep_source: bool = False,
        on_cell: OnCell | None = None,
    ) -> SweepResult | Results:
        """Patch every (layer, position), one at a time, and grade each.

        Without `server_side` every cell is a request of its own. With it the server runs the whole
        grid, far faster, may sweep several `hooks` at once (then there is a result for each), and
        with `on_cell` streams cells as they are done. `run` or `clean` name a source run; from
        `clean_prompt` the server captures one for this sweep, and drops it unless `keep_source`.
        """
        grid = Grid(
            self.model, corrupt_prompt, hook or self.hook, hooks, list(layers),
            wire_positions(positions), alpha, answer_token, foil_token, metric, self.logprobs,
        )  # fmt: skip
        if server_side:
            request = from_run(
                grid, run=run, clean=clean, clean_prompt=clean_prompt, keep_source=keep_source
            )
            return await self._served(request, on_cell)
        for name, given in (("hooks", hooks), ("on_cell", on_cell)):
            if given is not None:
                raise ValueError(f"{name} needs server_side=True: only the server has it")
        if clean_prompt is not None and clean is None:
            raise ValueError("clean_prompt is captured on the server: pass server_side=True too")
        asked = cell_by_cell(grid, run=run, clean=clean, clean_prompt=clean_prompt)
        async with self.connection() as connection:
            return await sweep_cells(asked, connection, at_once=self.concurrency)

    async def zoom(
        self,
        result: SweepResult,
        *,
        corrupt_prompt: str,
        run: str,
        around: tuple[int, int] | None = None,
        layer_radius: int = 3,
        position_radius: int = 3,
        answer_token: str,
        foil_token: str | None = None,
        alpha: float = 1.0,
        metric: str | None = None,
        clean: CleanRun | None = None,
    ) -> SweepResult:
        """Every cell around the strongest, or around a (layer, position), asked one by one."""
        centre = around or result.argmax_cell()
        if centre is None:
            raise ValueError("no cell of this result has a number: say where to look with around")
        async with self.connection() as connection:
            able = await self._about(connection)
            n_tokens = len(await Tokenizer(connection, self.model).tokens(corrupt_prompt))
        n_layers = None if able is None else able.model.n_layers
        return await self.sweep_layers_positions(
            corrupt_prompt,
            run=run,
            layers=near(centre[0], layer_radius, n_layers),
            positions=near(centre[1], position_radius, n_tokens),
            hook=result.hook,
            alpha=alpha,
            answer_token=answer_token,
            foil_token=foil_token,
            metric=metric or result.metric_name,
            clean=clean,
        )

    @overload
    async def ablation_sweep(
        self, corrupt_prompt: str, *, layers: Iterable[int], positions: PositionsLike,
        source: str = "zeros", source_inline: int | None = None,
        mask: Mapping[str, Any] | None = None, patch_vectors: Mapping[str, Any] | None = None,
        hook: str | None = None, alpha: float = 1.0, answer_token: str,
        foil_token: str | None = None, metric: str = "logprob", hooks: None = None,
        on_cell: OnCell | None = None,
    ) -> SweepResult: ...  # fmt: skip
    @overload
    async def ablation_sweep(
        self, corrupt_prompt: str, *, layers: Iterable[int], positions: PositionsLike,
        source: str = "zeros", source_inline: int | None = None,
        mask: Mapping[str, Any] | None = None, patch_vectors: Mapping[str, Any] | None = None,
        hook: str | None = None, alpha: float = 1.0, answer_token: str,
        foil_token: str | None = None, metric: str = "logprob", hooks: Sequence[str],
        on_cell: OnCell | None = None,
    ) -> Results: ...  # fmt: skip
    async def ablation_sweep(
        self,
        corrupt_prompt: str,
        *,
        layers: Iterable[int],
        positions: PositionsLike,
        source: str = "zeros",
        source_inline: int | None = None,
        mask: Mapping[str, Any] | None = None,
        patch_vectors: Mapping[str, Any] | None = None,
        hook: str | None = None,
        alpha: float = 1.0,
        answer_token: str,
        foil_token: str | None = None,
        metric: str = "logprob",
        hooks: Sequence[str] | None = None,
        on_cell: OnCell | None = None,
    ) -> SweepResult | Results:
        """Patch a vector in: zeros, a registered one, or a row of `patch_vectors`."""
        grid = Grid(
            self.model, corrupt_prompt, hook or self.hook, hooks, list(layers),
            wire_positions(positions), alpha, answer_token, foil_token, metric, self.logprobs,
        )  # fmt: skip
        vector = from_vector(
            grid,
            source=source,
            source_inline=source_inline,
            mask=mask,
            patch_vectors=patch_vectors,
        )
        return await self._served(vector, on_cell)

    def drop_run(self, run: str) -> bool:
        """Forget a source run on the server; False when there is none of that name."""

        async def work() -> bool:
            async with self.connection() as connection:
                try:
                    await connection.ask("DELETE", f"/patch_source/{segment(run)}")
                except Refused as error:
                    if error.status == 404:
                        return False
                    raise
                return True

        return wait_for(work())

    async def _served(
        self, request: PatchSweepRequest, on_cell: OnCell | None
    ) -> SweepResult | Results:
        """Have the server run a sweep; one result, or with `hooks` one for each."""

        def hear(message: Message) -> None:
            if on_cell is not None and message.type == "cell":
                on_cell(message.body)

        async with self.connection() as connection:
            finished = await run_sweep(
                connection, body_of(request), None if on_cell is None else hear
            )
            able = await self._about(connection)
        sweep = None if able is None else whole(finished.summary, request, able)
        results = results_of(finished.summary, sweep_id=finished.id, sweep=sweep)
        return results[finished.summary["hook"]] if request.hooks is None else results

    async def _about(self, connection: Connection) -> Capabilities | None:
        """What the server says of the model; None when it is not Sonde's."""
        try:
            return await about(connection, self.model)
        except Refused as error:
            if error.status in (404, 405):
                return None
            raise


def near(centre: int, radius: int, end: int | None) -> list[int]:
    """The numbers within a radius, from 0 up to `end`, where that is known."""
    stop = centre + radius + 1
    return list(range(max(centre - radius, 0), stop if end is None else min(stop, end)))
