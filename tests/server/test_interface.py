"""What the user interface was built from is what the server is now."""

from tests.server.interface import files


def test_the_interface_has_the_servers_words_colours_and_formats() -> None:
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, "run `make ui-types`"
