from sonde.backends.torch.loading.description import described
from sonde.schema import SpecialTokens
from tests.backends.torch.tiny import tiny_backend


def test_it_says_what_it_is_given_and_what_the_model_is() -> None:
    backend = tiny_backend()
    nothing = SpecialTokens(before=[], after=[])
    found = described(backend._loaded, backend._path, nothing, "abc")
    assert (found.weights, found.special_tokens) == ("abc", nothing)
    assert found.n_layers == len(backend._path.layout.sites)
    assert found.dtype == "float32"
    assert found.model_copy(update={"weights": backend.describe().weights}) == backend.describe()
