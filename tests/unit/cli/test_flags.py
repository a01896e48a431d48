"""Flags to options."""

from pathlib import Path

import pytest

from steersman.cli.flags import FLAGS, companion_flags, parse
from steersman.controlplane.options import APIServerOptions


def options(*arguments: str) -> APIServerOptions:
    return parse("apiserver", "", arguments)[0]


def test_without_flags_the_defaults_hold(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert options() == APIServerOptions(data_dir=Path("/state/steersman"))


def test_flags_become_options():
    made = options(
        "--data-dir=/d", "--port", "0", "--token-auth-file=/t", "--request-timeout=1m30s", "--anonymous-auth=false",
        "--service-node-port-range=1-2", "--authorization-mode=AlwaysAllow", "--feature-gates=A=true",
        "--allow-privileged", "--kubeconfig=/k", "--runtime-config=a/v1=false",
    )  # fmt: skip
    assert made == APIServerOptions(
        data_dir=Path("/d"),
        secure_port=0,
        token_auth_file=Path("/t"),
        request_timeout_seconds=90,
        anonymous_auth=False,
        service_node_port_range=(1, 2),
        authorization_mode=("AlwaysAllow",),
        feature_gates={"A": True},
        allow_privileged=True,
        kubeconfig=Path("/k"),
        runtime_config={"a/v1": False},
    )


def test_an_ephemeral_server_needs_no_directory():
    assert options("--ephemeral").data_dir is None
    assert options("--storage=memory").ephemeral
    assert options("--storage=memory", "--ephemeral").ephemeral
    assert not options("--storage=sqlite").ephemeral


def test_a_name_has_a_data_directory_of_its_own(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert options().data_dir == Path("/state/steersman")
    assert options("--name=dev").data_dir == Path("/state/steersman/named/dev")
    assert options("--name=dev", "--data-dir=/d").data_dir == Path("/d")
    assert options("--name=dev").name == "dev"


def test_every_flag_has_an_option():
    targets = {flag.target for flags in FLAGS.values() for flag in flags}
    assert targets <= set(APIServerOptions.__struct_fields__)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--token-auth", "x"], "unrecognized arguments"),
        (["--etcd-servers=http://127.0.0.1:2379"], "etcd is not supported yet, use --storage"),
        (["--etcd-servers=memory"], "etcd is not supported yet"),
        (["--storage=etcd"], "invalid choice: 'etcd'"),
        (["--ephemeral", "--storage=sqlite"], "--ephemeral is --storage memory"),
        (["--name=Dev"], "'Dev' is not a valid name"),
        (["--name=../x"], "RFC 1123 label"),
        (["--secure-port=x"], "is no port"),
        (["stray"], "unrecognized arguments: stray"),
    ],
)
def test_what_makes_no_sense_is_told(arguments, says, capsys):
    with pytest.raises(SystemExit) as stopped:
        options(*arguments)
    assert stopped.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "passed"),
    [
        ("--coordinated-elections", "--coordinated-leader-election=True"),
        ("--coordinated-elections=false", "--coordinated-leader-election=False"),
    ],
)
def test_coordinated_elections_are_passed_to_the_components(flag, passed):
    _, process = parse("up", "d", [flag])
    assert companion_flags(process) == [passed]


def test_help_names_the_defaults(capsys):
    with pytest.raises(SystemExit):
        options("--help")
    assert "(default 6443)" in capsys.readouterr().out
