"""What a reconstruction keeps: everything if perfect, nothing if it is the ablation itself."""

from dataclasses import replace

import pytest
import torch

from sonde.errors import BadRequest, EngineError
from sonde.sae.activations import Relu
from sonde.sae.autoencoder import Autoencoder
from sonde.sae.corpus import Contexts
from sonde.sae.evaluate import WHOLE, CrossEntropy, evaluate, evaluate_kinds, hook_of
from tests.backends.torch.tiny import backend_of
from tests.sae.reading import WIDTH, mirror, random_contexts, tiny_reader
from tests.tiny_model import tiny_llama

TEXT = random_contexts(30)


def nothing(layer: int = 0) -> Autoencoder:
    """Whatever it reads, it says zeros."""
    return mirror(layer, scale=0.0)


def test_a_perfect_reconstruction_changes_nothing() -> None:
    found = evaluate(tiny_reader(), {0: mirror(0), 1: mirror(1)}, TEXT)
    for each in found.values():
        assert each.health.fvu == pytest.approx(0, abs=1e-9)
        assert each.loss.spliced == pytest.approx(each.loss.original, abs=1e-5)
        assert each.health.tokens == TEXT.n_tokens


def test_a_reconstruction_of_zeros_is_the_ablation() -> None:
    (each,) = evaluate(tiny_reader(), {0: nothing()}, TEXT).values()
    assert each.loss.spliced == pytest.approx(each.loss.zeroed, abs=1e-6)
    assert each.loss.original != pytest.approx(each.loss.zeroed, abs=1e-3)
    assert each.health.fvu is not None
    assert each.health.fvu > 1
    assert each.health.l0 is not None
    assert each.health.l0 > 0


def test_a_reconstruction_that_is_the_mean_is_the_other_ablation() -> None:
    reader = tiny_reader()
    read = reader.activations(TEXT.ids, "post_block", [0])[0]
    inside = torch.arange(24)[None] < TEXT.lengths[:, None]
    inside[:, 0] = False
    constant = replace(nothing(), b_dec=read[inside].mean(0), activation=Relu())
    (each,) = evaluate(reader, {0: constant}, TEXT).values()
    assert each.loss.spliced == pytest.approx(each.loss.averaged, abs=1e-6)
    assert each.health.fvu == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("hook", ["post_block", "mlp_out", "pre_attn"])
def test_cross_entropy_is_the_mean_over_text_after_position_1(hook: str) -> None:
    reader = tiny_reader()
    (each,) = evaluate(reader, {1: replace(mirror(1), hook=hook)}, TEXT).values()
    loss = reader.cross_entropy(TEXT.ids)
    wanted = [loss[row, 1 : n - 1] for row, n in enumerate(TEXT.lengths.tolist())]
    assert each.loss.original == pytest.approx(float(torch.cat(wanted).double().mean()), abs=1e-6)
    assert each.loss.spliced == pytest.approx(each.loss.original, abs=1e-5)


def test_what_is_recovered_is_the_share_of_what_the_ablation_costs() -> None:
    loss = CrossEntropy(original=2.0, spliced=2.5, zeroed=12.0, averaged=7.0)
    assert loss.recovered == pytest.approx(0.95)
    assert loss.recovered_from_mean == pytest.approx(0.9)


def test_where_an_ablation_costs_nothing_there_is_nothing_to_recover() -> None:
    loss = CrossEntropy(original=2.0, spliced=2.5, zeroed=2.0, averaged=1.0)
    assert loss.recovered is None
    assert loss.recovered_from_mean is None


def test_plain_values_are_json_without_nan() -> None:
    (each,) = evaluate(tiny_reader(), {0: mirror(0)}, TEXT).values()
    plain = each.plain()
    assert {"fvu", "l0", "dead", "cosine", "ce_original", "ce_spliced", "ce_recovered"} <= set(
        plain
    )
    assert all(value is None or value == value for value in plain.values())


def test_a_model_that_computes_no_numbers_is_an_error_and_not_a_nan_in_a_file() -> None:
    model = tiny_llama()
    reader = backend_of(model).reader
    model.model.norm.register_forward_hook(lambda _module, _args, out: out * torch.nan)
    with pytest.raises(EngineError, match="not finite numbers; read it in float32"):
        evaluate(reader, {0: mirror(0)}, TEXT)


def test_an_autoencoder_that_does_not_fit_is_refused() -> None:
    reader = tiny_reader()
    wide = Autoencoder(
        torch.zeros(WIDTH + 1, 4), torch.zeros(4), torch.zeros(4, WIDTH + 1),
        torch.zeros(WIDTH + 1), Relu(), hook="post_block", layer=0,
    )  # fmt: skip
    with pytest.raises(BadRequest, match="reads 17 .* and the model has 16"):
        evaluate(reader, {0: wide}, TEXT)
    transcoder = replace(mirror(0), hook="mlp_in", hook_out="mlp_middle")
    with pytest.raises(BadRequest, match="transcoder predicts 'mlp_middle'"):
        evaluate(reader, {0: transcoder}, TEXT)
    with pytest.raises(BadRequest, match="reads at 'attn_z'"):
        hook_of(replace(mirror(0), hook="attn_z"))


def test_text_of_two_tokens_is_not_enough() -> None:
    short = Contexts(TEXT.ids[:, :2], torch.full((len(TEXT),), 2))
    with pytest.raises(BadRequest, match="three tokens"):
        evaluate(tiny_reader(), {0: mirror(0)}, short)


def test_kinds_of_text_are_judged_apart_and_together() -> None:
    reader, other = tiny_reader(), random_contexts(20, seed=3)
    poor = replace(mirror(1, scale=0.9), b_dec=torch.full((WIDTH,), 0.1))
    (found,) = evaluate_kinds(reader, [(1, poor)], {"one": TEXT, "other": other})
    both = Contexts(torch.cat([TEXT.ids, other.ids]), torch.cat([TEXT.lengths, other.lengths]))
    (together,) = evaluate(reader, {1: poor}, both).values()
    assert list(found) == [WHOLE, "one", "other"]
    assert found[WHOLE].health.fvu == pytest.approx(together.health.fvu)
    assert found[WHOLE].health.dead == together.health.dead
    assert found[WHOLE].loss.spliced == pytest.approx(together.loss.spliced, abs=1e-6)
    assert found[WHOLE].density is not None
    assert together.density is not None
    assert found[WHOLE].density.counts == together.density.counts
    assert found["one"].health.tokens + found["other"].health.tokens == together.health.tokens
    (alone,) = evaluate(reader, {1: poor}, TEXT).values()
    assert found["one"].health == alone.health
    assert found["one"].loss.original == alone.loss.original


def test_two_dictionaries_of_one_layer_are_judged_on_the_same_ablations() -> None:
    found = evaluate_kinds(tiny_reader(), [(1, mirror(1)), (1, nothing(1))], {"": TEXT})
    one, other = (each[WHOLE] for each in found)
    assert (one.loss.zeroed, one.loss.averaged) == (other.loss.zeroed, other.loss.averaged)
    assert one.loss.spliced == pytest.approx(one.loss.original, abs=1e-5)
    assert other.loss.spliced == pytest.approx(other.loss.zeroed, abs=1e-6)
    assert one.shrinkage == pytest.approx(1)
    assert other.shrinkage is None


def test_shrinkage_is_the_factor_that_reconstructions_are_off_by() -> None:
    reader = tiny_reader()
    read = reader.activations(TEXT.ids, "post_block", [0])[0]
    inside = torch.arange(24)[None] < TEXT.lengths[:, None]
    inside[:, 0] = False
    mean = read[inside].mean(0)
    for factor in (1.0, 0.8, 1.3):
        scaled = replace(mirror(0, scale=factor), b_dec=(1 - factor) * mean)
        (each,) = evaluate(reader, {0: scaled}, TEXT).values()
        assert each.shrinkage == pytest.approx(factor, abs=1e-4)
