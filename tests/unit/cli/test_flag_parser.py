"""The parser that all commands share."""

import pytest

from steersman.cli import values
from steersman.cli.flag_parser import Example, FlagParser, HelpPage


def parser() -> FlagParser:
    page = HelpPage(
        "Do it.", (Example("Do it twice", "steersman do --count=2"),), (("numbers", ("count",)),), "The end."
    )
    flag_parser = FlagParser("do", page)
    flag_parser.add_argument("--count", "-c", type=values.count, default=1, help="Number of times")
    flag_parser.add_argument("--fast", type=values.boolean, nargs="?", const=True, default=False)
    flag_parser.add_argument("--names", type=values.names)
    flag_parser.add_argument("--format", choices=("text", "json"))
    return flag_parser


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args(arguments)
    out, err = capsys.readouterr()
    assert (stopped.value.code, out) == (2, "")
    reason, hint = err.splitlines()
    assert hint == "run 'steersman do --help' for usage"
    return reason.removeprefix("steersman do: ")


@pytest.mark.parametrize(
    ("arguments", "count", "fast", "names"),
    [
        ([], 1, False, None),
        (["--count", "2", "--fast", "--names", "-x,y"], 2, True, ("-x", "y")),
        (["-c", "2", "--fast=false", "--names=-x"], 2, False, ("-x",)),
        (["--fast", "--count=0"], 0, True, None),
    ],
)
def test_flags_take_values_as_pflag(arguments, count, fast, names):
    parsed = parser().parse_args(arguments)
    assert (parsed.count, parsed.fast, parsed.names) == (count, fast, names)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--cuont=2"], "unknown flag: --cuont; did you mean --count?"),
        (["--xyz", "--count=2"], "unknown flag: --xyz"),
        (["--hlep"], "unknown flag: --hlep; did you mean --help?"),
        (["-x"], "unknown flag: -x"),
        (["word"], 'unexpected argument "word", the command takes only flags'),
        (["--fast", "word"], 'unexpected argument "word", the command takes only flags'),
        (["--count"], "flag needs an argument: --count"),
        (["-c"], "flag needs an argument: --count"),
        (["--names", "--count=1"], "flag needs an argument: --names"),
        (["--count", "x"], 'invalid argument "x" for "--count" flag: must be a whole number, 0 or more'),
        (["-c", "x"], 'invalid argument "x" for "--count" flag: must be a whole number, 0 or more'),
        (["--fast=x"], 'invalid argument "x" for "--fast" flag: must be true or false'),
        (["--format=xml"], 'invalid argument "xml" for "--format" flag: must be one of text, json'),
    ],
)
def test_wrong_flag_is_refused_in_two_lines(arguments, reason, capsys):
    assert refusal(capsys, *arguments) == reason


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_shows_the_common_flags_and_the_way_to_all(flag, capsys):
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args([flag])
    assert stopped.value.code == 0
    # Python 3.13 names the value of a flag once.
    out = capsys.readouterr().out.replace("--count COUNT, -c COUNT\n                      ", "--count, -c COUNT")
    assert out == (
        "usage: steersman do [FLAGS]\n\nDo it.\n\nnumbers:\n"
        "  --count, -c COUNT  Number of times\n\nThe end.\n\n"
        "examples:\n  # Do it twice\n  steersman do --count=2\n\n"
        "run 'steersman do --help-all' for all flags\n"
    )


def test_help_all_shows_all_flags(capsys):
    with pytest.raises(SystemExit) as stopped:
        parser().parse_args(["--help-all"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert out == parser().format_help()
    assert all(flag in out for flag in ("--count", "--fast", "--names", "--format", "# Do it twice"))
    assert "--help-all" not in out
