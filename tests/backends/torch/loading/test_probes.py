from sonde.backends.torch.loading.probes import PROBES
from sonde.backends.torch.loading.splitting import RULES


def test_every_two_splitting_rules_take_one_of_them_apart_differently() -> None:
    distinct = {rule.patterns: rule for rule in RULES.values()}
    cuts = [tuple(tuple(rule.words(text)) for text in PROBES) for rule in distinct.values()]
    assert len(set(cuts)) == len(distinct)


def test_they_are_short_and_the_empty_text_is_among_them() -> None:
    assert "" in PROBES
    assert max(map(len, PROBES)) < 100
