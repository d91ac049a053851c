"""How patched runs of this model are computed: decided, and proved, when it is loaded.

`packed` is taken when every layer is plain attention and a packed run gives the logits of an
ordinary forward pass. Otherwise `whole_sequence`, with the reason. Either way the model is then
tested for batch invariance: runs that enter at different layers and positions, together and alone,
must end in the bits of the unpatched run.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

import torch
from torch import Tensor
from transformers import PreTrainedModel

from sonde.backends.torch import whole
from sonde.backends.torch.cpu import products, reproducible
from sonde.backends.torch.cpu.parallel import split
from sonde.backends.torch.gpu.graphs import Graphs, Launch, launch_now
from sonde.backends.torch.layout import Layout, bare_layer, find_layers, find_layout
from sonde.backends.torch.loading.reasons import one_line
from sonde.backends.torch.packed import attention, experts, trace
from sonde.backends.torch.packed import passage as packed
from sonde.backends.torch.packed.cells import PackedCell, Sources
from sonde.backends.torch.packed.plan import RowPlan, UnsupportedAttention, block_size, using
from sonde.backends.torch.packed.rows import RowShape, padded, row_shape
from sonde.backends.torch.packed.scoring import Run
from sonde.backends.torch.packed.segments import whole_prompts
from sonde.backends.torch.packed.trace import Stepping, Trace
from sonde.backends.torch.packed.unembedding import Unembedding
from sonde.backends.torch.packed.writes import applied, due
from sonde.backends.torch.shell import Calls
from sonde.errors import EngineError
from sonde.schema import Hook

AGREEMENT: Final = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}
"""How far a packed run's log-probabilities may be from ordinary ones, relative to their size."""


CLOSE: Final = {torch.float32: 1e-3, torch.float16: 5e-2, torch.bfloat16: 2e-1}
"""How far recomputed residuals may be from the first ones, where bits depend on the batch."""

SHORT_PROMPTS: Final = 512
SHORT_CHUNK: Final = 8192
"""Rows up to which launching takes a GPU longer than computing: of unpatched runs, of a chunk."""

FOREIGN: Final = (RuntimeError, TypeError, ValueError, LookupError, AttributeError)
"""What a model's own code raises when it is called in a way it was not made for."""


@dataclass(frozen=True)
class Path:
    """One of the two ways, bound to a model."""

    name: Literal["packed", "whole_sequence"]
    reason: str | None
    model: PreTrainedModel
    layout: Layout
    unembedding: Unembedding
    shape: RowShape
    stepping: Stepping | None = None
    """The compiled layers, if there are any."""
    graphs: Graphs | None = None
    """Unpatched runs launched as a whole, on a GPU."""
    exact: bool = False
    exact_reason: str | None = None
    token_layers_per_second: float = 1.0

    @property
    def local(self) -> bool:
        """Whether positions are known to see one another in attention only."""
        return self.name == "packed"

    @property
    def mixes(self) -> bool:
        """Whether cells of several prompts may share a chunk."""
        return self.name == "packed" and not _length_matters(self.model)

    def attend(self) -> None:
        """See to it that the model attends as it has to here; others may use it in between."""
        if self.local and self.model.config._attn_implementation != attention.NAME:
            self.model.set_attn_implementation(attention.NAME)

    def record(self, prompts: Sequence[Sequence[int]], hooks: Iterable[Hook]) -> list[Trace]:
        """The unpatched runs of some prompts."""
        how: Callable[..., list[Trace]] = whole.record
        if self.name == "packed":
            launch = self._launch(sum(map(len, prompts)), SHORT_PROMPTS)
            how = partial(trace.record, shape=self.shape, stepping=self.stepping, launch=launch)
        wanted = list(hooks)
        apart = [[tokens] for tokens in prompts] if _length_matters(self.model) else [prompts]
        return [one for some in apart for one in how(self.model, self.layout, some, wanted)]

    def start(self, of: Trace, cells: Sequence[PackedCell], sources: Sources) -> Run:
        """Patched runs of a prompt, ready to go."""
        if self.name == "whole_sequence":
            return whole.WholeRun(self.layout, of, cells, sources)

        ported = self.on_cpu  # compiled layers cannot be hooked

        def packed_run(some: Sequence[PackedCell]) -> Run:
            compiled = None if self.stepping is None else self.stepping.layers
            writing = due if ported else applied
            rows = sum(of.lengths[cell.prompt] - cell.first for cell in some)
            return packed.PackedRun(
                self.layout, of, some, sources, self.shape, compiled, writing,
                self._launch(rows, SHORT_CHUNK),
            )  # fmt: skip

        return split(cells, packed_run, self.layout.sites) if ported else packed_run(cells)

    def _launch(self, n_rows: int, most: int) -> Launch:
        """As a whole, where so many rows are over sooner than they are launched."""
        return launch_now if self.graphs is None or n_rows > most else self.graphs.run

    @property
    def on_cpu(self) -> bool:
        """Whether the model runs on the CPU."""
        return str(self.model.device.type) == "cpu"


def choose_path(
    model: PreTrainedModel,
    *,
    compile_layers: bool = False,
    fixed_rows: bool = False,
    graph_bytes: int = 0,
) -> Path:
    """The fastest way that this model allows.

    On a GPU, short work is launched as a whole once it has come twice, if memory is given for that.

    Compiling fuses what lies between the matrix products. It takes some seconds and pays on a GPU
    with a large model. Fixed rows make a GPU batch-invariant, at about half the speed.
    """
    reproducible.settle()
    laid_out = products.worth_it(model) and not compile_layers
    shape = row_shape(model.device, fixed=fixed_rows, laid_out=laid_out)
    attention.register()
    experts.register()
    products.again(model)
    probe = _probe(model)
    native = attention.of_its_own(model)
    model.set_attn_implementation(native)
    with torch.inference_mode():
        ordinary = model(input_ids=_ids(model, probe), use_cache=False).logits[0, -1].float()
    expected = ordinary.log_softmax(-1)
    try:
        path = _packed_path(model, probe, expected, shape, compile_layers)
        return path if path.on_cpu or not graph_bytes else replace(path, graphs=Graphs(graph_bytes))
    except (EngineError, *FOREIGN) as error:
        reason = one_line(error)
    model.set_attn_implementation(native)
    return _whole_path(model, probe, expected, shape, reason)


def _packed_path(
    model: PreTrainedModel,
    probe: list[int],
    expected: Tensor,
    shape: RowShape,
    compile_layers: bool,
) -> Path:
    config = model.config.get_text_config()
    if getattr(config, "attention_chunk_size", None) or not getattr(config, "is_causal", True):
        raise UnsupportedAttention("its attention is chunked or not causal")
    model.set_attn_implementation(attention.NAME)
    if model.config._attn_implementation != attention.NAME:
        raise UnsupportedAttention("its attention cannot be replaced by name")
    if experts.uses_experts(model):
        model.set_experts_implementation(experts.NAME)
    if products.worth_it(model) and not compile_layers:
        products.lay_out(find_layers(model))
    layout = _watched_layout(model, probe)
    if layout.not_attention is not None:
        raise UnsupportedAttention(f"{layout.not_attention} is not plain attention")
    path = Path("packed", None, model, layout, Unembedding(model, shape, layout.tuple_of), shape)
    _check_agreement(path, probe, expected)
    if compile_layers:
        functions = [torch.compile(layer, dynamic=True) for layer in path.layout.layers]
        of = path.record([probe], ())[0]
        path = replace(path, stepping=Stepping(Calls(model, layout.tuple_of).of, functions))
        _compile(path, of)
        _check_agreement(path, probe, expected)
    return _proved(path, probe)


def _compile(path: Path, of: Trace) -> None:
    """Compile on a large batch: kernels are made for the first that comes, and small ones are few.

    `of` is a run through layers that are not compiled.
    """
    rows, enters = min(path.shape.most, SHORT_CHUNK), max(len(path.layout.sites) - 2, 0)
    count = rows // len(of.tokens)
    with torch.inference_mode():
        _final(path, of, [PackedCell(i, (), 0, enters, ()) for i in range(count)])


def _whole_path(
    model: PreTrainedModel, probe: list[int], expected: Tensor, shape: RowShape, reason: str
) -> Path:
    try:
        layout = find_layout(model, probe, set())
        path = Path(
            "whole_sequence",
            reason,
            model,
            layout,
            Unembedding(model, shape, layout.tuple_of),
            shape,
        )
        _check_agreement(path, probe, expected)
        return _proved(path, probe)
    except (EngineError, *FOREIGN) as error:
        raise EngineError(
            f"{type(model).__name__} cannot be patched by Sonde: {one_line(error)}"
        ) from error


def _check_agreement(path: Path, probe: list[int], expected: Tensor) -> None:
    """Run by its layers one by one, the model must say what it says in an ordinary forward pass."""
    with torch.inference_mode():
        last = path.record([probe], ())[0].last()[None]
        logits, normaliser = path.unembedding.distribution(last)
    difference = float((logits[0] - normaliser[0] - expected).abs().max())
    bound = AGREEMENT[path.model.dtype] * max(1.0, float(expected.abs().max()))
    if not difference <= bound:
        raise UnsupportedAttention(
            f"a {path.name.replace('_', '-')} run differs from an ordinary one by "
            f"{difference:.2g} in log-probability"
        )


def _length_matters(model: PreTrainedModel) -> bool:
    """Whether rotary frequencies depend on the longest position of a forward pass."""
    rope = getattr(model.config.get_text_config(), "rope_parameters", None) or {}
    nested = [value for value in rope.values() if isinstance(value, dict)]  # one per layer type
    kinds = {kind.get("rope_type", "default") for kind in [rope, *nested]}
    return bool(kinds & {"dynamic", "longrope"})


def _watched_layout(model: PreTrainedModel, probe: list[int]) -> Layout:
    """The layout, with the attention function noting who calls it."""
    bare = Layout(tuple(bare_layer(m) for m in find_layers(model)), (), None)
    block = block_size(model.device, len(probe))
    size = padded(len(probe), block)
    tokens = [*probe, *[probe[-1]] * (size - len(probe))]
    blocks = whole_prompts([size], [block], model.device)
    plan = RowPlan(bare.layer_of, blocks, size, None, shapes=[])
    with using(plan):
        return find_layout(model, tokens, plan.callers).with_heads(plan.shapes or [])


def _probe(model: PreTrainedModel) -> list[int]:
    """A short prompt of arbitrary tokens; 19 is neither a block nor a row group."""
    vocabulary = model.get_input_embeddings().weight.shape[0]
    return [(7 + 31 * i * i) % vocabulary for i in range(19)]


def _ids(model: PreTrainedModel, tokens: list[int]) -> Tensor:
    return torch.tensor([tokens], device=model.device)


def _proved(path: Path, probe: list[int]) -> Path:
    """The path with its invariance tested and its speed measured."""
    with torch.inference_mode():
        of = path.record([probe], ())[0]
        n_layers, n = len(path.layout.sites), len(probe)
        layers = sorted({0, n_layers // 2, n_layers - 1})
        cells = [PackedCell(i, (), p, e, ()) for i, (e, p) in enumerate(_places(layers, n))]
        finals = [_final(path, of, cells)]  # the first is slow: memory is taken, kernels are chosen
        began = time.perf_counter()
        finals.append(_final(path, of, cells))
        seconds = time.perf_counter() - began
        finals += [_final(path, of, [cell]) for cell in cells[-2:]]
    expected = of.last()
    equal = all(torch.equal(row, expected) for final in finals for row in final)
    exact = equal and (path.on_cpu or path.shape.is_fixed)
    furthest = max(_distance(row, expected) for final in finals for row in final)
    if not furthest <= CLOSE[path.model.dtype]:
        raise EngineError(
            f"unpatched cells end {furthest:.2g} of its size away from the unpatched run"
        )
    work = sum(cell.token_layers(n_layers, n) for cell in cells)
    return replace(
        path, exact=exact, exact_reason=_exact_reason(path, exact),
        token_layers_per_second=work / seconds,
    )  # fmt: skip


def _exact_reason(path: Path, exact: bool) -> str | None:
    """Why bits depend on the batch, or might though they did not when they were tested."""
    if exact and not path.on_cpu:
        return None
    if not path.on_cpu:
        fixed = "though its rows are fixed" if path.shape.is_fixed else "unless its rows are fixed"
        return f"products depend on the batch on this device, {fixed}"
    unasked = reproducible.settle().why_not
    if exact or unasked:
        return unasked
    dtype = str(path.model.dtype).removeprefix("torch.")
    return (
        f"{dtype} products depend on the rows beside them on this CPU; "
        "`sonde doctor --exactness` shows which"
    )


def _places(layers: list[int], n_tokens: int) -> list[tuple[int, int]]:
    return [(layer, position) for layer in layers for position in (0, 5, n_tokens - 1)]


def _final(path: Path, of: Trace, cells: list[PackedCell]) -> Tensor:
    nothing = Sources(of.residuals[0, :0], None)
    return path.start(of, cells, nothing).final()


def _distance(row: Tensor, expected: Tensor) -> float:
    difference = (row.float() - expected.float()).norm() / expected.float().norm()
    return float(difference)
