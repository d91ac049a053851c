"""Many spellings, one hook."""

import pytest

from sonde.sae.sites import lens_site, module_input, module_site


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("blocks.7.hook_resid_post", ("post_block", 7)),
        ("blocks.0.hook_resid_pre", ("pre_attn", 0)),
        ("blocks.12.hook_resid_mid", ("post_attn", 12)),
        ("blocks.12.hook_mlp_out", ("mlp_out", 12)),
        ("blocks.3.ln2.hook_normalized", ("mlp_in", 3)),
        ("blocks.3.mlp.hook_in", ("mlp_in", 3)),
        ("blocks.3.attn.hook_z", ("attn_z", 3)),
        ("blocks.3.hook_something", ("hook_something", 3)),
        ("hook_embed", ("hook_embed", None)),
    ],
)
def test_as_transformer_lens_says_it(name: str, site: tuple[str, int | None]) -> None:
    assert lens_site(name) == site


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("layers.15", ("post_block", 15)),
        ("layers.15.mlp", ("mlp_out", 15)),
        ("model.layers.18.mlp", ("mlp_out", 18)),
        ("transformer.h.5", ("post_block", 5)),
        ("gpt_neox.layers.5.attention", ("attn_out", 5)),
        ("model.layers.9.output", ("post_block", 9)),
        ("model.layers.9.pre_feedforward_layernorm.output", ("mlp_in", 9)),
        ("model.layers.9.self_attn.o_proj.input", ("attn_z", 9)),
        ("layers.15.mlp.act", ("mlp.act", 15)),
        ("embed_tokens", ("embed_tokens", None)),
    ],
)
def test_as_a_module_is_called(name: str, site: tuple[str, int | None]) -> None:
    assert module_site(name) == site


def test_what_a_transcoder_of_a_module_reads() -> None:
    assert module_input("layers.3.mlp") == "mlp_in"
    assert module_input("layers.3") == "pre_attn"
    assert module_input("layers.3.self_attn") == "input of layers.3.self_attn"
