"""Every token has a name, and no two in one list have the same."""

from collections.abc import Sequence

from sonde.server.completion.decoding import InnerText
from sonde.server.completion.naming import FLOOR, TokenNames
from tests.scripted import WORDS, Scripted
from tests.server.tiny_server import chatting_backend
from tests.tiny_model import VOCABULARY

PARIS, ROME = WORDS.index(" Paris"), WORDS.index(" Rome")


def scripted_names() -> TokenNames:
    return TokenNames(InnerText(Scripted()))


def test_a_token_is_named_by_its_text_leading_space_included() -> None:
    named = scripted_names().named(PARIS, -1.5)
    assert (named.name, named.text, named.logprob) == (" Paris", " Paris", -1.5)


def test_a_token_without_text_of_its_own_is_named_by_its_id() -> None:
    backend = chatting_backend()
    names = TokenNames(InnerText(backend))
    half = backend.tokenize("🚀")[0]
    for token in (0, half):
        named = names.named(token, -1.0)
        assert (named.name, named.text) == (f"token_id:{token}", None)


def test_minus_infinity_is_a_number_on_the_wire() -> None:
    assert scripted_names().named(PARIS, -float("inf")).logprob == FLOOR


def test_tokens_come_likeliest_first() -> None:
    ranked = scripted_names().ranked({ROME: -2.0, PARIS: -1.0, 0: -3.0})
    assert [each.name for each in ranked] == [" Paris", " Rome", "token_id:0"]


def test_of_two_tokens_with_one_text_the_likelier_has_the_name() -> None:
    class Twins(Scripted):
        def detokenize(self, tokens: Sequence[int]) -> str:
            return super().detokenize(tokens).replace(" Rome", " Paris")

    ranked = TokenNames(InnerText(Twins())).ranked({PARIS: -2.0, ROME: -1.0})
    assert [(each.token, each.name) for each in ranked] == [
        (ROME, " Paris"),
        (PARIS, f"token_id:{PARIS}"),
    ]


def test_no_two_tokens_of_a_vocabulary_share_a_name() -> None:
    names = TokenNames(InnerText(chatting_backend()))
    ranked = names.ranked({token: -float(token) for token in range(VOCABULARY)})
    assert len({each.name for each in ranked}) == VOCABULARY
