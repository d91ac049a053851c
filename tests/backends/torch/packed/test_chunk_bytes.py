"""The bytes of a chunk: the rough bound covers the measured peak (see also `test_memory`)."""

from functools import partial

from sonde.backends.torch.packed.chunk_bytes import peak_of_chunk, rough_bytes, source_bytes
from tests.architectures import WIDTH
from tests.backends.torch.tiny import asked, prompt, tiny_backend


def test_more_cells_take_more_and_the_rough_bound_covers_them() -> None:
    backend = tiny_backend()
    window, _ = backend._scorer._begin([(0, asked(prompt(20, 1), []))], read=False)
    peak = partial(peak_of_chunk, backend._path, window.prompts[0], backend._scorer._read)

    few, many = peak(8, 0), peak(32, 0)

    assert few < many < 32 * 20 * rough_bytes(backend._path, window.trace)
    assert peak(32, 19) < many  # shorter suffixes
    assert source_bytes(backend._model) == 6 * 4 * WIDTH


def test_layers_that_keep_more_than_their_weights_tell_have_no_rough_bound() -> None:
    backend = tiny_backend("mamba")
    window, _ = backend._scorer._begin([(0, asked(prompt(9, 1), []))], read=False)

    assert rough_bytes(backend._path, window.trace) == float("inf")
