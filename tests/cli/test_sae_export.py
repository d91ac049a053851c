"""`sonde sae export`: for SAELens, or smaller."""

from pathlib import Path

from sonde.sae.load import load_autoencoder
from tests.cli.shell import refusal, sonde


def test_a_shipped_dictionary_is_exported_from_the_command_line(tmp_path: Path) -> None:
    result = sonde("sae", "export", 15, tmp_path / "out")
    assert result.stdout == f"{tmp_path / 'out'}\n"
    ours, theirs = load_autoencoder(tmp_path / "out"), sonde("sae", "show", tmp_path / "out")
    assert "saelens" in theirs.stdout
    assert (ours.d_sae, ours.layer) == (16384, 15)
    assert "is not empty" in refusal(sonde("sae", "export", 15, tmp_path / "out"))
    small = sonde("sae", "export", 15, tmp_path / "small", "--to", "int8")
    assert small.exit_code == 0, small.output
    weights = tmp_path / "small" / "autoencoder.safetensors"
    assert weights.stat().st_size < 20_000_000
    kept = load_autoencoder(tmp_path / "small")
    largest = ours.W_dec.abs().amax(1, keepdim=True)
    assert ((kept.W_dec - ours.W_dec).abs() < 0.01 * largest).all(), "8 bits: half a step of 127"
