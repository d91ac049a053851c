from pathlib import Path

import pytest

from sonde.errors import BadReward
from sonde.training.rewards.plugin import load_verifier


def test_a_verifier_is_found_in_a_file_or_a_module(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def verify(prompt, completion):\n    return 0.25\n")
    assert load_verifier(f"{tmp_path}/mine.py:verify")("p", "c") == 0.25
    assert load_verifier("math:hypot")(3, 4) == 5


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nonsense", "not of the form"),
        ("/nowhere/file.py:verify", "no file"),
        ("no_such_module:verify", "cannot import"),
        ("math:pi", "no callable 'pi'"),
        ("math:nothing", "no callable 'nothing'"),
        (":verify", "not of the form"),
    ],
)
def test_what_leads_nowhere_is_explained(name: str, said: str) -> None:
    with pytest.raises(BadReward, match=said):
        load_verifier(name)
