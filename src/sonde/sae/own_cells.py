"""The cells of a feature axis where there is a file system: a shipped dictionary, or a path.

A server has names instead of paths (`sonde.server.dictionaries`).
"""

from sonde.errors import BadRequest
from sonde.sae import shipped
from sonde.sae.feature_axis import FeatureCells, feature_cells
from sonde.sae.load import load_autoencoder
from sonde.schema import ModelDescription
from sonde.schema.table import FeatureAxis


def own_cells(axis: FeatureAxis, model: ModelDescription) -> FeatureCells:
    """The cells of features of the dictionary that an axis names; of none, the shipped one."""
    if axis.dictionary is None:
        return _shipped(axis.layer, model)
    path = shipped.find(axis.dictionary)
    return feature_cells(load_autoencoder(path, layer=axis.layer), name=path.name)


def _shipped(layer: int, model: ModelDescription) -> FeatureCells:
    found = shipped.layers().get(layer)
    autoencoder = None if found is None else load_autoencoder(found)
    if found is None or autoencoder is None or autoencoder.d_in != model.width:
        raise BadRequest(
            f"features need a dictionary, and none comes with Sonde for layer {layer} of "
            f"{model.name!r} (there are some for {shipped.MODEL}, at {list(shipped.layers())}); "
            "give the path of one as `dictionary`"
        )
    return feature_cells(autoencoder, name=f"{found.parent.name}/{found.name}")
