"""Tables of flags."""

from __future__ import annotations

import msgspec
import pytest

from steersman.cli import values
from steersman.cli.flag_parser import FlagParser, HelpPage
from steersman.cli.flag_table import Flag, add_table, deprecations, explicit_flags, group_of, without_effect


class Options(msgspec.Struct, frozen=True, kw_only=True):
    count: int = 3
    period_seconds: float = 90.0
    names: tuple[str, ...] = ("a", "b")
    is_on: bool = False


TABLE = {
    "numbers": (
        Flag("count", values.count, "Number of times"),
        Flag("period", values.duration, "Time between two"),
    ),
    "other": (
        Flag("names", values.names, "Names"),
        Flag("on", values.boolean, "Do it", "is_on"),
        Flag("old", str, "Old", deprecated="Use --names."),
        Flag("cloud", str, "Cloud", unused="there is no cloud"),
        Flag("later", str, "Later"),
        Flag("secret", str, "Secret", refused="secrets are not supported"),
    ),
}


@pytest.fixture
def parser():
    flag_parser = FlagParser("do", HelpPage("Do it."))
    add_table(flag_parser, TABLE, Options)
    return flag_parser


@pytest.mark.parametrize(
    ("arguments", "target", "value"),
    [
        (["--count=5"], "count", 5),
        (["--count", "5"], "count", 5),
        (["--period=2m"], "period_seconds", 120.0),
        (["--on"], "is_on", True),
        (["--on=false"], "is_on", False),
        (["--names=x,y", "--names", "z"], "names", ("x", "y", "z")),
    ],
)
def test_flag_sets_its_option(parser, arguments, target, value):
    assert getattr(parser.parse_args(arguments), target) == value


def test_flags_that_are_not_given_set_nothing(parser):
    assert explicit_flags(parser.parse_args([]), TABLE) == []


def test_flag_without_option_is_reported_once_with_its_reason(parser):
    parsed = parser.parse_args(["--later=x", "--cloud=a", "--cloud=b", "--count=1"])
    assert without_effect(parsed, TABLE, Options) == [
        "flag --cloud has no effect: there is no cloud",
        "flag --later has no effect",
        ]  # fmt: skip
    assert without_effect(parsed, TABLE, Options, handled={"later"}) == [
        "flag --cloud has no effect: there is no cloud"
    ]


def test_deprecated_flag_is_reported_in_the_words_of_pflag(parser):
    assert deprecations(parser.parse_args(["--old=x"]), TABLE) == ["Flag --old has been deprecated, Use --names."]


def test_refused_flag_ends_the_command_unless_it_is_empty(parser, capsys):
    assert parser.parse_args(["--secret="]).secret == ""
    with pytest.raises(SystemExit):
        parser.parse_args(["--secret=x"])
    assert 'invalid argument "x" for "--secret" flag: secrets are not supported' in capsys.readouterr().err


def test_help_shows_groups_defaults_and_flags_without_effect(parser, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    text = parser.format_help()
    assert "\nnumbers:\n" in text
    for part in ("(default 3)", "(default 90s)", "(default a,b)", "(default false)", "(no effect: there is no cloud)"):
        assert part in text
    assert "--old" not in text
    assert "--secret" not in text


def test_group_of_a_title_is_created_once(parser):
    assert group_of(parser, "numbers") is group_of(parser, "numbers")
    assert group_of(parser, "new") is group_of(parser, "new")
