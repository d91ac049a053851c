"""Where a dictionary reads, from the many spellings of it to Sonde's hook and layer.

A site that Sonde has no hook for keeps a word of its own, so that nothing reads it by mistake.
"""

import re
from typing import Final

_LENS: Final = {
    "hook_resid_pre": "pre_attn",
    "hook_resid_mid": "post_attn",
    "hook_resid_post": "post_block",
    "ln2.hook_normalized": "mlp_in",
    "mlp.hook_in": "mlp_in",
    "hook_mlp_out": "mlp_out",
    "hook_attn_out": "attn_out",
    "attn.hook_z": "attn_z",
}
_MODULES: Final = {
    "": "post_block",
    "output": "post_block",
    "input": "pre_attn",
    "mlp": "mlp_out",
    "mlp.output": "mlp_out",
    "mlp.input": "mlp_in",
    "pre_feedforward_layernorm.output": "mlp_in",
    "post_feedforward_layernorm.output": "mlp_out",
    "self_attn": "attn_out",
    "attn": "attn_out",
    "attention": "attn_out",
    "self_attn.o_proj.input": "attn_z",
}
_LAYER: Final = re.compile(r"(?:^|\.)(?:layers|blocks|h)\.(\d+)(?:\.|$)")


def lens_site(name: str) -> tuple[str, int | None]:
    """`blocks.7.hook_resid_post`, as TransformerLens says it -> post_block, 7."""
    rest, layer = _split(name)
    return _LENS.get(rest, rest), layer


def module_site(name: str) -> tuple[str, int | None]:
    """`model.layers.7.mlp`, a module whose output is meant -> mlp_out, 7."""
    rest, layer = _split(name)
    return (name if layer is None else _MODULES.get(rest, rest)), layer


def module_input(name: str) -> str:
    """The hook at the input of such a module, which is what a transcoder of it reads."""
    hook, _ = module_site(name)
    return {"mlp_out": "mlp_in", "post_block": "pre_attn"}.get(hook, f"input of {name}")


def _split(name: str) -> tuple[str, int | None]:
    found = _LAYER.search(name)
    return (name, None) if found is None else (name[found.end() :], int(found.group(1)))


def lens_name(hook: str, layer: int) -> str:
    """post_block, 7 -> `blocks.7.hook_resid_post`; a word that is not ours stays as it is."""
    known = {ours: theirs for theirs, ours in reversed(_LENS.items())}
    return f"blocks.{layer}.{known.get(hook, hook)}"
