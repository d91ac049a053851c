"""`sonde sae describe`: features of anybody's dictionary, on text of one's own."""

import json
from pathlib import Path

from sonde.sae.feature_file import FEATURES, read_some
from sonde.sae.formats.saelens_export import save_saelens
from tests.cli.shell import refusal, sonde
from tests.sae.reading import mirror


def test_a_dictionary_of_another_library_is_described_by_kind_of_text(
    tiny: Path, tmp_path: Path
) -> None:
    folder, text = save_saelens(mirror(1), tmp_path / "sae"), tmp_path / "text"
    text.mkdir()
    (text / "story.txt").write_text(
        "".join(f"{n} times Mary gave a drink to {n + 7} of John. " for n in range(90))
    )
    (text / "travel.txt").write_text(
        "".join(f"The Eiffel Tower {n} is {3 * n} in Paris. " for n in range(90))
    )
    base = ("sae", "describe", folder, "--model", tiny, "--context", 24, "--device", "cpu")
    result = sonde(*base, "--text", text)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{folder / FEATURES}\n"
    features = read_some(folder / FEATURES, range(32))
    assert all(set(each.kinds) == {"story", "travel"} for each in features)
    assert any(len(each.snippets) > 10 for each in features)
    assert all(each.on for each in features if each.rate > 0)
    said = {"what": "x", "licence": "y", "package": "z", "quoted": False}
    listed = [{**said, "file": name, "domain": "all"} for name in ("story.txt", "travel.txt")]
    (text / "sources.json").write_text(json.dumps(listed))
    assert "none of this text may be quoted" in refusal(sonde(*base, "--text", text))
    assert "give --text" in refusal(sonde(*base))
