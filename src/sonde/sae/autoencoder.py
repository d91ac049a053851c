"""One dictionary, whatever file it came from.

Every loader ends here, so nothing above knows about formats: orientation, folded norms, biases and
precision are settled once, when a file is read. It is not a module to train; it is a value to read
with, and no gradients flow through it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from sonde.errors import BadRequest
from sonde.sae import encode
from sonde.sae.activations import Activation
from sonde.sae.active import Active
from sonde.sae.norms import Norm, normalise, undo

mkldnn: Any = torch.backends.mkldnn  # its precision settings have no types

_EXACT = {"ieee", "none"}
"""Settings under which a float32 product has float32 factors. "none" is the default."""


@dataclass(frozen=True)
class Origin:
    """Where a dictionary came from: enough to name it in a run, and to notice a change."""

    format: str = "memory"
    """Which loader read it."""
    file: str | None = None
    """The name of the file with the weights."""
    sha256: str | None = None
    """Of that file."""
    model: str | None = None
    """What it was trained on, as far as the files say."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What else its files say that may matter, as plain JSON values."""
    folder: str | None = field(default=None, compare=False)
    """Where the file is on this machine; None for one that was not read from a file."""


@dataclass(frozen=True, eq=False, repr=False)
class Autoencoder:
    """A sparse autoencoder, or a transcoder, in one canonical form. All tensors are float32.

    y = norm(x) - b_dec (where it is subtracted);  f = activation(y @ W_enc + b_enc)
    x̂ = undo norm(f @ W_dec + b_dec)  (+ x @ W_skip)
    """

    W_enc: Tensor
    """[d_in, d_sae]"""
    b_enc: Tensor
    """[d_sae]"""
    W_dec: Tensor
    """[d_sae, d_out]"""
    b_dec: Tensor
    """[d_out]"""
    activation: Activation
    subtract_b_dec: bool = False
    """Whether b_dec is subtracted before encoding."""
    norm_in: Norm = "none"
    W_skip: Tensor | None = None
    """[d_in, d_out], of a transcoder with a linear path past the features."""
    hook: str | None = None
    """Where it reads: one of Sonde's hooks, or the word for a site Sonde has no hook for."""
    hook_out: str | None = None
    """Where a transcoder's output belongs; None where input and output are the same."""
    layer: int | None = None
    origin: Origin = field(default_factory=Origin)

    @property
    def d_in(self) -> int:
        """The width of what it reads."""
        return self.W_enc.shape[0]

    @property
    def d_sae(self) -> int:
        """How many features it has."""
        return self.W_enc.shape[1]

    @property
    def d_out(self) -> int:
        """The width of what it writes: that of what it reads, unless it is a transcoder."""
        return self.W_dec.shape[1]

    @property
    def k(self) -> int | None:
        """How many features it was trained to keep of a token, where there is such a number."""
        k: int | None = getattr(self.activation, "k", None)
        return k

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return self.W_enc.device

    @property
    def is_transcoder(self) -> bool:
        """Whether it predicts another site than it reads."""
        skips = self.W_skip is not None
        return skips or self.d_out != self.d_in or self.hook_out not in (None, self.hook)

    def to(self, device: torch.device | str) -> "Autoencoder":
        """The same dictionary on another device."""
        target = torch.device(device)
        return self.with_tensors({name: held.to(target) for name, held in self.tensors().items()})

    def tensors(self) -> dict[str, Tensor]:
        """All its tensors by name, those of the activation among them."""
        held: dict[str, Tensor | None] = {
            "W_enc": self.W_enc,
            "b_enc": self.b_enc,
            "W_dec": self.W_dec,
            "b_dec": self.b_dec,
            "W_skip": self.W_skip,
        }
        named = {name: tensor for name, tensor in held.items() if tensor is not None}
        return named | self.activation.tensors()

    def with_tensors(self, tensors: Mapping[str, Tensor]) -> "Autoencoder":
        """The same dictionary with other tensors, all of those that `tensors` names."""
        own = self.activation.tensors()
        return replace(
            self,
            W_enc=tensors["W_enc"],
            b_enc=tensors["b_enc"],
            W_dec=tensors["W_dec"],
            b_dec=tensors["b_dec"],
            W_skip=tensors.get("W_skip"),
            activation=self.activation.with_tensors({name: tensors[name] for name in own}),
        )

    def __repr__(self) -> str:
        where = f"{self.hook}, layer {self.layer}"
        return f"Autoencoder({self.d_in} → {self.d_sae} {self.activation.kind}, {where})"

    def encode(self, x: Tensor, *, budget_bytes: int | None = None) -> Active:
        """The active features of activations [tokens, d_in], of any dtype, on this device.

        Products have float32 factors and sums, on a GPU too: no TF32 and no autocast, whatever the
        process has set. The dense block of pre-activations, and what selecting needs beside it,
        takes no more than `budget_bytes`. A token that is not finite has no active features.
        """
        self._check(x)
        if budget_bytes is None:
            budget_bytes = encode.default_budget(self.device, self.d_sae)
        with exact_float32(self.device):
            return encode.encode_rows(
                x, self.W_enc, self.b_enc, self.activation, budget_bytes, self._ready
            )

    def top_features(
        self, x: Tensor, k: int, *, budget_bytes: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """The k strongest features of each token, strongest first: indices and values [tokens, k].

        A value of 0 means that fewer than k are active; its index means nothing.
        """
        return self.encode(x, budget_bytes=budget_bytes).top(k)

    def decode(self, active: Active, x: Tensor | None = None) -> Tensor:
        """What the active features say x was. -> [tokens, d_out], float32

        A dictionary that normalises its input, or has a skip path, needs `x` to undo or add it.
        """
        if x is None and (self.norm_in != "none" or self.W_skip is not None):
            raise BadRequest(
                f"{self!r} normalises its input ({self.norm_in}) or has a skip path, so decoding "
                "needs the activations too: decode(active, x), or reconstruct(x)"
            )
        with exact_float32(self.device):
            out = encode.decode_rows(active, self.W_dec, self.b_dec)
            if x is None:
                return out
            self._check(x)
            _, scale, shift = normalise(x.float(), self.norm_in)
            out = undo(out, scale, shift)
            return out if self.W_skip is None else out + x.float() @ self.W_skip

    def reconstruct(self, x: Tensor, *, budget_bytes: int | None = None) -> Tensor:
        """x̂ of activations [tokens, d_in]. -> [tokens, d_out], float32"""
        return self.decode(self.encode(x, budget_bytes=budget_bytes), x)

    def reconstruction_loss(self, x: Tensor, *, budget_bytes: int | None = None) -> Tensor:
        """‖x − x̂‖² of each token: the sum over the width, not the mean. -> [tokens], float32

        NaN where a token is not finite.
        """
        if self.is_transcoder:
            raise BadRequest(
                f"{self!r} is a transcoder: compare reconstruct(x) with what it predicts"
            )
        x_hat = self.reconstruct(x, budget_bytes=budget_bytes)
        return (x.detach().float() - x_hat).square().sum(1)

    def _check(self, x: Tensor) -> None:
        if x.dim() != 2 or x.shape[1] != self.d_in:
            raise BadRequest(
                f"activations {[*x.shape]}, expected [tokens, {self.d_in}] for {self!r}"
            )

    def _ready(self, x: Tensor) -> Tensor:
        """What the encoder is multiplied with. [tokens, d_in], float32"""
        y, _, _ = normalise(x.float(), self.norm_in)
        return y - self.b_dec if self.subtract_b_dec else y


@contextmanager
def exact_float32(device: torch.device) -> Iterator[None]:
    """Products with float32 factors and sums, no autocast and no gradients, inside the block.

    A training process may run under autocast, or have asked for TF32 or bfloat16 products. Both
    would change which features are selected without a word. The precision is a setting of the whole
    process: it is changed only where it has to be, and put back afterwards.
    """
    settings: tuple[Any, ...] = (torch.backends.cuda.matmul, mkldnn.matmul)
    loose = [(each, each.fp32_precision) for each in settings if each.fp32_precision not in _EXACT]
    try:
        for setting, _ in loose:
            setting.fp32_precision = "ieee"
        with torch.no_grad(), torch.autocast(device.type, enabled=False):
            yield
    finally:
        for setting, before in loose:
            setting.fp32_precision = before
