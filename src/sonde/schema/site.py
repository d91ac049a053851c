"""Where in the network a patch acts: hook, layer, position."""

from typing import Final, Literal, get_args

from sonde.schema.base import Wire

Hook = Literal["pre_attn", "post_attn", "post_block", "mlp_in", "mlp_out"]
"""`pre_attn` residual stream entering the layer · `post_attn` residual after the attention branch
is added · `post_block` residual leaving the layer · `mlp_in` normalised MLP input · `mlp_out` MLP
branch before it is added back. All are as wide as the residual stream."""

HOOKS: Final[tuple[Hook, ...]] = get_args(Hook)


class Site(Wire):
    """One place where an activation can be read or written."""

    hook: Hook
    layer: int
    position: int
