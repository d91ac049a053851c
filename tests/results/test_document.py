"""The frame of pages that are to be read: nothing from outside, nothing runs, one main part."""

import pytest

from sonde.results.document import document, scrolling
from tests.exported_pages import pages
from tests.results.test_page import EVIL, Elements

PAGES = pages()


@pytest.mark.parametrize("text", PAGES.values(), ids=PAGES)
def test_a_page_has_one_main_part_and_closes_what_it_opens(text: str) -> None:
    elements = Elements(text)
    assert elements.open == []
    assert elements.found.count("main") == elements.found.count("h1") == 1


def test_a_title_of_others_is_text() -> None:
    text = document(EVIL, "<p>ours</p>")
    assert "<script>alert" not in text
    assert "default-src 'none'" in text


def test_what_scrolls_can_be_reached_by_keys_and_has_a_name() -> None:
    assert scrolling("<table></table>", 'a "table"') == (
        '<div class="scroll" tabindex="0" role="region" aria-label="a &quot;table&quot;">'
        "<table></table></div>"
    )
