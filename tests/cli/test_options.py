"""Options that several commands share."""

import click
from click.testing import CliRunner

from sonde.cli.options import as_json, number, seeded


@click.command()
@number("--times", "How often.", default=1_000)
@number("--from", "Where to begin. Default: at the end.", least=0)
@seeded
@as_json
def command(**options: object) -> None:
    click.echo(repr(sorted(options.items())))


def said(*arguments: str) -> str:
    return CliRunner().invoke(command, arguments).output


def test_a_default_is_told_in_the_sentence_and_is_what_is_given() -> None:
    assert "--times NUMBER  How often. Default: 1,000.  [x>=1]" in said("--help")
    assert said() == "[('as_json', False), ('from', None), ('seed', 0), ('times', 1000)]\n"


def test_a_number_below_the_least_is_refused_by_name() -> None:
    assert "Invalid value for '--times': 0 is not in the range x>=1" in said("--times", "0")
    assert "'--from': -1 is not in the range" in said("--from", "-1")
    assert "('seed', -3)" in said("--seed", "-3", "--json")
