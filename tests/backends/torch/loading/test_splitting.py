import pytest

from sonde.backends.torch.loading.splitting import RULES, Rule

CUTS = {
    "gpt-2": ["it", "'s", " 1234", " I", "'", "LL", " x", "=", "1", "\n", "\n", "2"],
    "smollm": ["it", "'s", " ", "1", "2", "3", "4", " I", "'", "LL", " x", "=", "1", "\n\n", "2"],
    "llama-bpe": ["it", "'s", " ", "123", "4", " I", "'LL", " x", "=", "1", "\n\n", "2"],
    "qwen2": ["it", "'s", " ", "1", "2", "3", "4", " I", "'LL", " x", "=", "1", "\n\n", "2"],
    "tekken": ["it", "'s", " ", "1", "2", "3", "4", " I", "'LL", " x", "=", "1", "\n\n", "2"],
    "gpt-4o": ["it's", " ", "123", "4", " I'LL", " x", "=", "1", "\n\n", "2"],
}


@pytest.mark.parametrize("name", CUTS)
def test_a_rule_cuts_as_the_models_that_name_it(name: str) -> None:
    assert RULES[name].words("it's 1234 I'LL x=1\n\n2") == CUTS[name]


@pytest.mark.parametrize("rule", {rule.patterns: rule for rule in RULES.values()}.values())
def test_the_library_cuts_as_the_patterns_say(rule: Rule) -> None:
    for text in ("it's 1234 I'LL x=1\n\n2", "  a  b\t\r\n c ", "Ünï ½² 日本語 🙂"):
        spelled = [word for word, _ in rule.pre_tokenizer().pre_tokenize_str(text)]
        lengths = [len(word) for word in spelled]  # a letter for every byte
        assert lengths == [len(word.encode()) for word in rule.words(text)]


def test_nothing_is_lost() -> None:
    for rule in RULES.values():
        assert "".join(rule.words(" a1  b'll\n\n\tc…")) == " a1  b'll\n\n\tc…"
