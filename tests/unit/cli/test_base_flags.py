"""Flags that all components have."""

from __future__ import annotations

import pytest

from steersman.cli.base_flags import add_log_flags, add_version_flag, version_text
from steersman.cli.flag_parser import FlagParser, HelpPage
from steersman.cli.main import main
from steersman.version import KUBERNETES_VERSION, __version__


@pytest.fixture
def parser():
    flag_parser = FlagParser("do", HelpPage("Do it."))
    add_log_flags(flag_parser)
    add_version_flag(flag_parser)
    return flag_parser


def test_log_flags_have_the_defaults_of_upstream(parser):
    parsed = parser.parse_args([])
    assert (parsed.logging_format, parsed.v, parsed.vmodule) == ("text", 0, ())


def test_log_flags_are_read(parser):
    parsed = parser.parse_args(["--logging-format=json", "-v=2", "--vmodule=assembly=4", "--vmodule=a/*=1"])
    assert (parsed.logging_format, parsed.v, parsed.vmodule) == ("json", 2, (("assembly", 4), ("a/*", 1)))


@pytest.mark.parametrize("command", ["up", "apiserver", "controller-manager", "scheduler", "nodes"])
@pytest.mark.parametrize("flag", ["--version", "--version=true", "--version=raw"])
def test_version_of_every_component_is_printed(command, flag, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, flag])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == version_text(is_raw=flag.endswith("raw")) + "\n"


def test_version_text_begins_as_upstreams():
    assert version_text(is_raw=False) == f"Kubernetes {KUBERNETES_VERSION} (steersman {__version__})"
    raw = version_text(is_raw=True)
    assert raw.startswith(f'version.Info{{Major:"1", Minor:"36", GitVersion:"{KUBERNETES_VERSION}", ')
    assert raw.endswith(f'SteersmanVersion:"{__version__}"}}')


def test_version_takes_no_other_value(parser, capsys):
    assert parser.parse_args(["--version=false"]).v == 0
    with pytest.raises(SystemExit):
        parser.parse_args(["--version=x"])
    assert 'invalid argument "x" for "--version" flag: must be true, false or raw' in capsys.readouterr().err
