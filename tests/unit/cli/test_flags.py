"""Flags of ``up`` and ``apiserver`` to options."""

from pathlib import Path

import pytest

from steersman.cli.flags import FLAGS, component_flags, parse, parser
from steersman.controlplane.options import APIServerOptions


def options(*arguments: str) -> APIServerOptions:
    return parse("apiserver", arguments)[0]


def test_defaults_hold_without_flags(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert options() == APIServerOptions(data_dir=Path("/state/steersman"))


def test_flags_become_options():
    made = options(
        "--data-dir=/d", "--port", "0", "--token-auth-file=/t", "--request-timeout=1m30s", "--anonymous-auth=false",
        "--service-node-port-range=1-2", "--authorization-mode=AlwaysAllow", "--feature-gates=A=true",
        "--allow-privileged", "--kubeconfig=/k", "--runtime-config=a/v1=false", "--service-account-key-file=/a,/b",
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
        service_account_key_file=(Path("/a"), Path("/b")),
    )


def test_ephemeral_server_needs_no_directory():
    assert options("--ephemeral").data_dir is None
    assert options("--storage=memory").ephemeral
    assert options("--storage=memory", "--ephemeral").ephemeral
    assert not options("--storage=sqlite").ephemeral
    assert options("--ephemeral=false", "--data-dir=/d") == APIServerOptions(data_dir=Path("/d"))


def test_name_has_a_data_directory_of_its_own(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert options().data_dir == Path("/state/steersman")
    assert options("--name=dev").data_dir == Path("/state/steersman/named/dev")
    assert options("--name=dev", "--data-dir=/d").data_dir == Path("/d")
    assert options("--name=dev").name == "dev"


def test_every_flag_has_an_option():
    targets = {flag.target for flags in FLAGS.values() for flag in flags}
    assert targets <= set(APIServerOptions.__struct_fields__)


def test_up_passes_flags_on_to_components(tmp_path):
    parsed = parser("up").parse_args(
        ["--nodes=2", "--controllers", "-job-controller,*", "--process-pods", f"--process-dir={tmp_path}"]
    )
    assert component_flags(parsed) == [
        "--nodes=2", "--process-pods=True", f"--process-dir={tmp_path}", "--controllers=-job-controller,*",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flag", "passed"),
    [
        ("--coordinated-elections", "--coordinated-leader-election=True"),
        ("--coordinated-elections=false", "--coordinated-leader-election=False"),
    ],
)
def test_up_passes_coordinated_elections_on_to_components(flag, passed):
    assert component_flags(parser("up").parse_args([flag])) == [passed]


def test_help_shows_defaults():
    text = parser("apiserver").format_help()
    assert "0 for any free port (default 6443)" in " ".join(text.split())
    assert "(default 60s)" in text
    assert "(default Node,RBAC)" in text
