"""The page a demo ends with."""

from pathlib import Path

from sonde.cli.demo_index import Entry, html, write


def test_every_result_is_led_to_and_escaped() -> None:
    text = html([Entry("A <fact>", "40% & more", "a.html", "a.png"), Entry("Run", "", "run.html")])
    assert '<a href="a.html">A &lt;fact&gt;</a>' in text
    assert "40% &amp; more" in text
    assert '<img src="a.png"' in text
    assert text.count("<img") == 1
    assert '<a href="run.html">Run</a>' in text


def test_what_could_not_be_asked_is_said_and_leads_nowhere() -> None:
    text = html([Entry("Heads", "Not measured: no pair is left")])
    assert "<h2>Heads</h2><p>Not measured: no pair is left</p>" in text
    assert "<a " not in text


def test_the_page_asks_nothing_of_a_network_and_is_written_whole(tmp_path: Path) -> None:
    path = write(tmp_path, [])
    assert path == tmp_path / "index.html"
    text = path.read_text()
    assert "default-src 'none'" in text
    assert "http" not in text.replace("http-equiv", "")
