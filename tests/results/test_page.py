"""The page: one file, nothing from outside, nothing from a prompt that runs."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from sonde.results import Sweep
from sonde.schema import PromptTokens
from tests.results.summaries import (
    SHAPES,
    WEIRD,
    WORDS,
    provenance,
    summary,
    sweep,
    three_hooks,
    with_tokens,
)

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>$title"


class Elements(HTMLParser):
    """Counts elements and collects attributes, as a browser would find them."""

    VOID = frozenset({"meta", "img", "link", "br"})

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def evil() -> Sweep:
    """Every text that is not ours, set to markup."""
    bad = summary(
        tokens=PromptTokens(prompt=[EVIL] * 3, clean=[EVIL, "x"]), warnings=[EVIL], noise_floor=0.1
    )
    source = provenance(prompt=EVIL, clean_prompt=EVIL, answer_token=EVIL, note=EVIL)
    names = {"model": EVIL, "weights": EVIL, "device": EVIL, "versions": {"sonde": EVIL}}
    return Sweep.of(bad, source.model_copy(update=names))


PAGES = {
    "three hooks": three_hooks(),
    "one cell": sweep({"mlp_in": [[-1.0]]}),
    "only a null": sweep({"mlp_in": [[None]]}, clean=None, corrupt=None),
    "weird": with_tokens(*WEIRD),
    "evil": evil(),
}


@pytest.mark.parametrize("result", PAGES.values(), ids=PAGES)
def test_every_element_is_closed_and_there_is_one_script_ours(result: Sweep) -> None:
    elements = Elements(result.to_html())
    assert elements.open == []
    assert elements.found.count("script") == 1
    assert "img" not in elements.found


@pytest.mark.parametrize("result", PAGES.values(), ids=PAGES)
def test_nothing_is_asked_of_a_network(result: Sweep) -> None:
    elements = Elements(result.to_html())
    assert {"link", "iframe", "object", "form", "base"}.isdisjoint(elements.found)
    names = {name for name, _ in elements.attributes}
    assert {"src", "href", "srcset", "action"}.isdisjoint(names)
    assert not [name for name in names if name.startswith("on")]
    style = re.findall(r"<style>(.*?)</style>", result.to_html(), flags=re.DOTALL)
    assert "url(" not in style[0]
    assert "@import" not in style[0]


def test_the_policy_allows_the_script_that_is_there_and_no_other() -> None:
    page = three_hooks().to_html()
    [script] = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in page


def test_the_page_says_everything_that_was_measured() -> None:
    page = three_hooks(warnings=["one sample only"]).to_html()
    for text in (
        "Log-probability of “·Paris”",
        "3 hooks × 30 layers × 9 positions",
        "The Eiffel Tower is in the city of",
        "one sample only",
        "2 of 2 equal the baseline, bit for bit",
        "810 cells in 0.71 s",
        "sha256:0123abcd",
        "“&lt;s&gt;” (1) before its text, nothing after it",
        "torch 2.13.0",
        "2026-03-01T12:30:00+00:00",
    ):
        assert text in page
    assert page.count("<table data-table=") == 3


def test_it_follows_the_readers_theme() -> None:
    page = sweep().to_html()
    assert '<meta name="color-scheme" content="light dark">' in page
    assert page.count("@media (prefers-color-scheme: dark)") == 2


def test_the_part_in_which_the_prompts_differ_is_marked() -> None:
    clean = ["<s>", "The", " Eiff", "el", " Tower", *WORDS[4:]]
    page = three_hooks(tokens=PromptTokens(prompt=WORDS, clean=clean)).to_html()
    assert re.findall("<mark>(.*?)</mark>", page) == [" Eiffel Tower", " Colosseum"]


@pytest.mark.parametrize(
    ("clean", "corrupt", "marked"),
    [
        (["a", "b"], ["a", "b"], []),
        (["a", "a"], ["a", "a", "a"], ["a"]),
        (["x"], ["y"], ["x", "y"]),
    ],
)
def test_shared_tokens_are_never_counted_twice(
    clean: list[str], corrupt: list[str], marked: list[str]
) -> None:
    tokens = PromptTokens(prompt=corrupt, clean=clean)
    result = sweep({"mlp_in": [[-5.0] * len(corrupt)]}, tokens=tokens)
    assert re.findall("<mark>(.*?)</mark>", result.to_html()) == marked


def test_a_patch_that_changed_nothing_is_said_in_words() -> None:
    assert "No patch changed the metric." in sweep({"mlp_in": [[-5.0]]}).to_html()


def test_a_notebook_gets_the_heatmap_without_a_script() -> None:
    for result in PAGES.values():
        elements = Elements(result._repr_html_())
        assert elements.open == []
        assert "script" not in elements.found
        assert elements.found.count("figure") == len(result.hooks)
    assert len(three_hooks()._repr_html_()) < 100_000


@pytest.mark.parametrize("result", SHAPES.values(), ids=SHAPES)
def test_a_table_of_any_shape_has_a_page(result: Sweep) -> None:
    for markup in (result.to_html(), result._repr_html_()):
        elements = Elements(markup)
        assert elements.open == []
        assert len(re.findall(r'class="panel\b', markup)) == len(result.views)
        assert "\x1b" not in markup
