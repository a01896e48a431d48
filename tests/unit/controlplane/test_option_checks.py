"""Validation of ``APIServerOptions``; refusals with their full text are in ``tests/unit/cli/test_refusals.py``."""

from pathlib import Path

import pytest

from steersman.controlplane.option_checks import check_options
from steersman.controlplane.options import APIServerOptions, OptionError
from steersman.testing.inprocess import InProcessAPIServer

_POLICY = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"


@pytest.fixture
def policy(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(_POLICY)
    return file


@pytest.mark.parametrize(
    "options",
    [
        APIServerOptions(),
        APIServerOptions(service_cluster_ip_range="10.96.0.0/12,fd00::/108", bind_address="::"),
        APIServerOptions(data_dir=Path("/tmp/not-made/yet"), kubeconfig=Path("/tmp/not-made/config")),
        APIServerOptions(service_account_issuer=("local", "https://kubernetes.default.svc")),
        APIServerOptions(oidc_issuer_url="https://idp", oidc_client_id="c", oidc_groups_claim="g"),
        APIServerOptions(service_account_max_token_expiration_seconds=3600),
        APIServerOptions(kubernetes_service_node_port=30443),
    ],
)
def test_usable_options_raise_no_warning(options):
    assert check_options(options) == []


def test_audit_policy_and_log_need_each_other(policy):
    assert check_options(APIServerOptions(audit_policy_file=policy, audit_log_path="-")) == []
    assert check_options(APIServerOptions(audit_policy_file=policy)) == [
        "--audit-policy-file without --audit-log-path or --audit-webhook-config-file records nothing"
    ]
    assert check_options(APIServerOptions(audit_log_path="-")) == [
        "--audit-log-path and --audit-webhook-config-file record nothing without --audit-policy-file"
    ]


def test_warnings_of_feature_gates_and_runtime_config_are_returned():
    options = APIServerOptions(feature_gates={"GangScheduling": True}, runtime_config={"api/alpha": True})
    assert len(check_options(options)) == 2


async def test_server_in_process_checks_its_options_and_logs_warnings(caplog):
    async with InProcessAPIServer(options=APIServerOptions(ephemeral=True, feature_gates={"GangScheduling": True})):
        assert "feature gate GangScheduling=true has no effect" in caplog.text
    with pytest.raises(OptionError, match="--authorization-mode"):
        async with InProcessAPIServer(options=APIServerOptions(ephemeral=True, authorization_mode=("Nope",))):
            pass


def test_overrides_of_etcd_need_its_servers():
    with pytest.raises(OptionError, match="--etcd-servers-overrides needs --etcd-servers"):
        check_options(APIServerOptions(etcd_servers_overrides=("/events#http://127.0.0.1:2379",)))


def test_unsupported_storage_media_type_names_the_supported_ones():
    with pytest.raises(OptionError, match=r"use application/json or application/vnd\.kubernetes\.protobuf$"):
        check_options(APIServerOptions(storage_media_type="application/yaml"))
