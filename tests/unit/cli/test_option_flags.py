from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import msgspec
import pytest

from steersman.cli.option_flags import add_options, add_process_flags, explicit_options, log_loop_error


class Options(msgspec.Struct, frozen=True, kw_only=True):
    kubeconfig: Path | None = None
    leader_elect: bool = True
    renew_seconds: float = 10.0
    concurrent_pod_syncs: int = 5
    names: tuple[str, ...] = ("a", "b")


def parse(*arguments: str) -> dict[str, object]:
    parser = argparse.ArgumentParser("x")
    add_options(parser, Options, {"kubeconfig": "where it is"})
    add_process_flags(parser)
    return explicit_options(Options, parser.parse_args(arguments))


def test_given_flags_only_set_options() -> None:
    assert parse() == {}
    assert parse("--die-with-parent") == {}


def test_values_are_read_as_their_fields_are_typed() -> None:
    assert parse(
        "--kubeconfig=~/x", "--leader-elect=false", "--renew=1m30s", "--concurrent-pod-syncs=7", "--names=a,c"
    ) == {
        "kubeconfig": Path("~/x").expanduser(),
        "leader_elect": False,
        "renew_seconds": 90.0,
        "concurrent_pod_syncs": 7,
        "names": ("a", "c"),
    }
    assert parse("--leader-elect") == {"leader_elect": True}


def test_help_prints_defaults_with_units() -> None:
    parser = argparse.ArgumentParser("x")
    add_options(parser, Options, {"kubeconfig": "where it is"})
    text = parser.format_help()
    assert "where it is" in text
    assert "(default 10s)" in text
    assert "(default a,b)" in text


def test_option_flags_reject_invalid_values(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse("--renew=soon")
    assert "--renew" in capsys.readouterr().err


async def test_log_loop_error_ignores_writes_to_closed_connections(caplog):
    loop = asyncio.get_running_loop()
    closed = RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")
    log_loop_error(loop, {"message": "Fatal error on SSL protocol", "exception": closed})
    assert caplog.messages == []
    log_loop_error(loop, {"message": "Fatal error", "exception": RuntimeError("broken")})
    assert caplog.messages == ["Fatal error"]
