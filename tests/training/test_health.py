import torch

from sonde.schema.records import SidecarHealth
from sonde.training.encoding import Encoder
from sonde.training.health import Counts, health_line, look
from sonde.training.lines import NonFinite
from sonde.training.pieces import PassSlice
from tests.training.test_pieces import sample
from tests.training.tiny_run import tiny_sae


def test_every_layer_is_reported_with_its_share_of_the_counts() -> None:
    encoder = Encoder({0: tiny_sae(0), 15: tiny_sae(1)}, k=16)
    x = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    encoder.encode([PassSlice((sample(0),), (5,), 1, {0: x, 15: x})])
    wrong = NonFinite()
    wrong.add(15, "reconstruction_loss", 2)
    layers = look(encoder, Counts(20, 4, 1, 0), wrong)
    assert [layer.layer_index for layer in layers] == [0, 15]
    assert [layer.records_written for layer in layers] == [10, 10]
    assert [layer.tokens for layer in layers] == [5, 5]
    assert layers[1].non_finite == {"reconstruction_loss": 2}
    assert layers[0].input_norm is not None


def test_nothing_recorded_means_null_not_nan() -> None:
    layers = look(Encoder({0: tiny_sae(0)}, k=16), Counts(0, 0, 0, 0), NonFinite())
    assert layers[0].fvu is None
    line = health_line("run", 3, layers, Counts(0, 0, 0, 2), float("nan"), ["look out"])
    assert isinstance(line, SidecarHealth)
    assert (line.sidecar_ms, line.fragments, line.alarms) == (None, 2, ["look out"])
