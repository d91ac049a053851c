"""Which layers to watch when nobody says which: spread evenly, from the first."""

from sonde.errors import BadRequest


def default_layers_to_hook(num_layers: int, n: int) -> list[int]:
    """`n` layers spread evenly from layer 0: 30 and 2 give [0, 15]. All where there are no more."""
    if n < 1:
        raise BadRequest(
            f"sae_num_layers is {n}; watch at least 1 layer, or none with sae_attach off"
        )
    if n >= num_layers:
        return list(range(num_layers))
    stride = num_layers // n
    return [index * stride for index in range(n)]
