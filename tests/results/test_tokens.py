"""How tokens look, and what can never reach a screen."""

import unicodedata

import pytest
from rich.cells import cell_len

from sonde.results.tokens import clusters, fit, fit_middle, pad, quoted, token_label, visible


@pytest.mark.parametrize(
    ("token", "label"),
    [
        (" Paris", "·Paris"),
        ("Paris", "Paris"),
        ("", "∅"),
        ("\n", r"\n"),
        ("\t", r"\t"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202eevil", r"\u202eevil"),
        ("\u200d", r"\u200d"),
        ("\ufe0f", r"\ufe0f"),
        ("\xa0", r"\xa0"),
        ("\ud800", r"\ud800"),
        ("\u0301", "◌\u0301"),
        ("日本", "日本"),
        ("שלום", "שלום"),
        ("😀", "😀"),
    ],
)
def test_a_label_shows_everything_a_token_is_made_of(token: str, label: str) -> None:
    assert token_label(token) == label


def test_no_character_at_all_comes_out_as_a_control_or_a_format_character() -> None:
    everything = "".join(map(chr, range(0x3000)))
    shown = visible(everything) + token_label(everything)
    assert {unicodedata.category(c) for c in shown}.isdisjoint({"Cc", "Cf", "Cs", "Zl", "Zp"})


def test_prompts_keep_their_spaces_and_tokens_show_them() -> None:
    assert visible("in the city") == "in the city"
    assert quoted(" in the") == "“·in·the”"


def test_a_label_is_cut_to_columns_not_to_characters() -> None:
    assert fit("Colosseum", 5) == "Colo…"
    assert cell_len(fit("日本語の文", 5)) <= 5
    assert fit("seum", 4) == "seum"
    assert fit("seum", 0) == ""


def test_a_prompt_keeps_both_its_ends() -> None:
    cut = fit_middle("The Eiffel Tower is in the city of", 15)
    assert cell_len(cut) == 15
    assert cut.startswith("The Eif")
    assert cut.endswith("city of")


@pytest.mark.parametrize("text", ["a", "日本", "much too long", ""])
def test_padding_gives_exactly_the_columns_asked_for(text: str) -> None:
    assert cell_len(pad(text, 6)) == 6


def test_a_mark_stays_with_the_letter_it_combines_with() -> None:
    assert list(clusters("e\u0301a")) == ["e\u0301", "a"]
