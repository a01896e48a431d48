"""Flags of ``up`` and ``apiserver`` to options."""

from pathlib import Path

import pytest

from steersman.cli.flags import component_flags, parse, parser
from steersman.controlplane.options import APIServerOptions


def options(*arguments: str) -> APIServerOptions:
    return parse("apiserver", arguments)[0]


def test_defaults_hold_without_flags(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert options() == APIServerOptions(data_dir=Path("/state/steersman"))


def test_flags_become_options():
    parsed_options = options(
        "--data-dir=/d", "--port", "0", "--token-auth-file=/t", "--request-timeout=1m30s", "--anonymous-auth=false",
        "--service-node-port-range=1-2", "--authorization-mode=AlwaysAllow", "--feature-gates=A=true",
        "--allow-privileged", "--kubeconfig=/k", "--runtime-config=a/v1=false", "--service-account-key-file=/a,/b",
    )  # fmt: skip
    assert parsed_options == APIServerOptions(
        data_dir=Path("/d"),
        secure_port=0,
        token_auth_file=Path("/t"),
        request_timeout_seconds=90,
        anonymous_auth=False,
        explicit_flags=("anonymous_auth", "authorization_mode"),
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


ETCD = ("--etcd-servers=https://127.0.0.1:2379", "--etcd-cafile=/ca")


def test_etcd_servers_set_the_store_and_leave_the_data_directory_for_certificates(tmp_path):
    parsed_options = options(
        *ETCD, "--etcd-servers=http://b:2379", f"--data-dir={tmp_path}", "--etcd-compaction-interval=1m"
    )
    assert parsed_options.etcd_servers == ("https://127.0.0.1:2379", "http://b:2379")
    assert (parsed_options.etcd_prefix, parsed_options.etcd_cafile) == ("/registry", Path("/ca"))
    assert (parsed_options.etcd_compaction_interval_seconds, parsed_options.data_dir) == (60, tmp_path)


@pytest.mark.parametrize("store", ["--storage=memory", "--storage=sqlite", "--ephemeral"])
def test_etcd_servers_have_no_effect_when_the_embedded_store_is_named(store):
    parsed_options, parsed = parse("apiserver", [*ETCD, store])
    assert (parsed_options.etcd_servers, parsed_options.etcd_cafile) == ((), None)
    assert parsed.warnings == [
        f"flag --{flag} has no effect: objects are kept in the embedded store of --storage or --ephemeral, not in etcd"
        for flag in ("etcd-cafile", "etcd-servers")
    ]


@pytest.mark.parametrize(
    "flag",
    [
        "egress-selector-config-file",
    ],
)  # fmt: skip
def test_flags_whose_loss_would_open_or_expose_the_server_are_refused(flag, capsys):
    with pytest.raises(SystemExit):
        options(f"--{flag}=/x")
    assert f'invalid argument "/x" for "--{flag}" flag: ' in capsys.readouterr().err
    assert options(f"--{flag}=", "--ephemeral").ephemeral


def test_deprecated_flags_are_reported_as_pflag_does(capsys):
    assert options("--ephemeral", "--admission_control=A,B").admission_control == ("A", "B")
    assert capsys.readouterr().err == (
        "Flag --admission-control has been deprecated, Use --enable-admission-plugins or --disable-admission-plugins"
        " instead. Will be removed in a future version.\n"
    )


def test_repeated_lists_and_maps_add_up():
    parsed_options = options("--ephemeral", "--feature-gates=A=true", "--feature-gates=B=false,A=false", "--oidc-signing-algs=RS256",
                   "--oidc-signing-algs=ES256", "--service-account-issuer=https://a", "--service-account-issuer=https://b")  # fmt: skip
    assert parsed_options.feature_gates == {"A": False, "B": False}
    assert parsed_options.oidc_signing_algs == ("RS256", "ES256")
    assert parsed_options.service_account_issuer == ("https://a", "https://b")


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


def test_up_passes_vmodule_on_to_components():
    parsed = parser("up").parse_args(["--vmodule=elector=4", "--vmodule=a*=1"])
    assert component_flags(parsed) == ["--vmodule=elector=4,a*=1"]


def test_help_shows_defaults():
    text = parser("apiserver").format_help()
    assert "0 for any free port (default 6443)" in " ".join(text.split())
    assert "(default 60s)" in text
    assert "(default Node,RBAC)" in text
