"""Run `sonde` as a shell would, in this process."""

from click.testing import CliRunner, Result

from sonde.cli.main import main


def sonde(*arguments: object) -> Result:
    """`sonde ARGUMENTS`, with stdout and stderr apart."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def refusal(result: Result) -> str:
    """The one line a command was refused with; progress lines may come before it."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.endswith("\n")
    *before, line = result.stderr.splitlines()
    assert all(said.startswith(("load", "looking for")) for said in before)
    assert line.startswith("error: ")
    return line.removeprefix("error: ")
