"""The command as a whole: what it imports, and how errors look."""

import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from pydantic import ValidationError

import sonde as package
from sonde.cli import main as module
from sonde.cli import models
from sonde.errors import (
    BadRequest,
    BaselineFailed,
    CaptureFailed,
    ControlFailed,
    HookNeverFired,
    MissingExtra,
    RequestError,
    SondeError,
    UnknownModel,
)
from sonde.schema import Estimate, PatchSweepRequest
from tests.cli.shell import refusal, sonde

HEAVY = {"torch", "transformers", "matplotlib", "rich"}


def raised_by_a_command(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> click.testing.Result:
    """What `sonde models` does when this comes out of it."""

    def fail(_alias: object) -> None:
        raise error

    monkeypatch.setattr(models, "state", fail)
    return sonde("models")


@pytest.mark.parametrize(
    "start",
    [
        ["-m", "sonde"],
        pytest.param(["-c", "from sonde.cli.main import main; main()"], marks=pytest.mark.slow),
    ],
)
def test_help_lists_the_verbs_and_imports_nothing_heavy(start: list[str]) -> None:
    watch = ["-X", "importtime", *start, "--help"]
    done = subprocess.run([sys.executable, *watch], capture_output=True, text=True)
    assert done.returncode == 0
    assert all(f"\n  {verb} " in done.stdout for verb in module.VERBS)
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()
    }
    assert "sonde" in imported
    assert not imported & HEAVY


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command there is, groups' own ones among them."""
    context = click.Context(module.main)
    for verb in module.VERBS:
        command = module.main.get_command(context, verb)
        assert command is not None
        yield verb, command
        for name, each in getattr(command, "commands", {}).items():
            yield f"{verb} {name}", each


def test_every_option_is_explained_in_the_same_way() -> None:
    """A sentence each; a word for the value; the default at its end, and nowhere else."""
    wrong = []
    for name, command in commands():
        for option in (each for each in command.params if isinstance(each, click.Option)):
            said = option.help or ""
            valued = not option.is_flag
            named = option.metavar or isinstance(option.type, click.Choice)
            default = option.to_info_dict()["default"]
            given = valued and not option.required and default not in (None, 0, ())
            fine = said.endswith(".") and not option.show_default and (named or not valued)
            if not fine or (given and "default: " not in said.lower()):
                wrong.append(f"sonde {name} {option.opts[0]}: {said!r}")
    assert wrong == []


def test_without_a_verb_the_help_is_shown() -> None:
    assert sonde().stdout == sonde("--help").stdout == sonde("-h").stdout
    assert sonde().exit_code == 0


def test_the_version_is_the_packages() -> None:
    assert sonde("--version").stdout.split()[-1] == package.__version__


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["swep"], "there is no command 'swep'; did you mean 'sweep'?"),
        (
            ["xyz"],
            "there is no command 'xyz'; there are demo, sweep, attribute, circuit, attention",
        ),
        (["--verbose"], "--verbose"),
        (["sweep", "--layer", "3"], "--layers"),
        (["sweep", "surplus"], "surplus"),
        (["sweep", "--ablate", "ones"], "'ones' is not 'zeros'"),
        (["sweep", "--model"], "--model"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_refused_in_one_line(
    arguments: list[str], expected: str
) -> None:
    assert expected in refusal(sonde(*arguments))


@pytest.mark.parametrize(
    "error",
    [
        BadRequest("value and remedy"),
        UnknownModel("value and remedy"),
        BaselineFailed("value and remedy"),
        CaptureFailed("value and remedy"),
    ],
)
def test_what_the_user_can_fix_is_one_line_and_status_2(
    error: SondeError, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refusal(raised_by_a_command(error, monkeypatch)) == "value and remedy"


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    result = raised_by_a_command(MissingExtra("loading a model", "engine"), monkeypatch)
    assert "pip install 'sonde[engine]'" in refusal(result)


@pytest.mark.parametrize("error", [HookNeverFired("why"), ControlFailed("why")])
def test_what_the_user_cannot_fix_is_one_line_and_status_1(
    error: SondeError, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = raised_by_a_command(error, monkeypatch)
    assert (result.exit_code, result.stderr) == (1, "error: why\n")


def test_every_request_error_counts_as_fixable() -> None:
    assert issubclass(RequestError, module.FIXABLE)


def test_bugs_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = KeyError("a bug")
    result = raised_by_a_command(bug, monkeypatch)
    assert (result.exception, result.exit_code, result.stderr) == (bug, 1, "")


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    result = raised_by_a_command(KeyboardInterrupt(), monkeypatch)
    assert (result.exit_code, result.output) == (130, "")


def test_what_others_typed_cannot_break_the_line_or_reach_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = raised_by_a_command(BadRequest("one\ntwo\x1b[2Jthree"), monkeypatch)
    assert refusal(result) == r"one two\x1b[2Jthree"


def test_fields_are_called_by_their_options_and_quotations_stay() -> None:
    message = "answer_token 'a clean_prompt' has 2 tokens; pass answer_token_id, or a `pairing`"
    shown = "--answer 'a clean_prompt' has 2 tokens; pass --answer-token-id, or a --pairing"
    assert module.with_flags(message) == shown


def test_every_option_named_in_place_of_a_field_exists() -> None:
    command = module.main.get_command(click.Context(module.main), "sweep")
    assert command is not None
    known = {option for parameter in command.params for option in parameter.opts}
    assert set(module.FLAGS.values()) <= known


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"alpa": 1}, "unknown field 'alpa'; did you mean 'alpha'?"),
        ({"alpha": float("nan")}, "alpha: Input should be a finite number; it was nan"),
        ({"logprobs": 0}, "logprobs: Input should be greater than or equal to 1; it was 0"),
    ],
)
def test_a_request_that_is_not_one_names_the_field_and_what_would_work(
    fields: dict[str, object], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValidationError) as caught:
        PatchSweepRequest.model_validate({"prompt": "p", "layers": [0], **fields})
    assert refusal(raised_by_a_command(caught.value, monkeypatch)) == expected


def test_any_other_value_that_is_not_valid_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError) as caught:
        Estimate.model_validate({})
    assert raised_by_a_command(caught.value, monkeypatch).exception is caught.value
