"""Authorizers of the options, and their validation."""

import pytest
from tests.unit.review_webhook import kubeconfig

from steersman.controlplane.authorization.options import authorizers_of, check_authorization, read_abac
from steersman.controlplane.options import APIServerOptions, OptionError


def options(tmp_path, **changes):
    file = kubeconfig(tmp_path, "https://webhook.test/review")
    return APIServerOptions(**({"authorization_webhook_config_file": file} | changes))


def test_modes_are_authorizers_with_names():
    chain = authorizers_of(APIServerOptions(authorization_mode=("Node", "RBAC", "AlwaysAllow")))
    assert [tuple(authorizer) for authorizer in chain] == [
        ("Node", "node", None),
        ("RBAC", "rbac", None),
        ("AlwaysAllow", "alwaysallow", None),
    ]


def test_webhook_has_the_values_of_its_flags(tmp_path):
    chosen = options(
        tmp_path,
        authorization_mode=("RBAC", "Webhook"),
        authorization_webhook_version="v1",
        authorization_webhook_cache_authorized_ttl_seconds=1.0,
    )
    check_authorization(chosen)
    _, authorizer = authorizers_of(chosen)
    webhook = authorizer.webhook
    assert authorizer.name == "default"
    assert webhook.kubeconfig == chosen.authorization_webhook_config_file
    assert (webhook.version, webhook.timeout_seconds, webhook.denies_on_error) == ("v1", 30.0, False)
    assert (webhook.authorized_seconds, webhook.unauthorized_seconds) == (1.0, 30.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"authorization_mode": ()}, "at least one authorization-mode must be passed"),
        ({"authorization_mode": ("RBAC", "RBAC")}, "specified more than once"),
        ({"authorization_mode": ("Rbac",)}, '"Rbac" is not a valid mode'),
        (
            {"authorization_mode": ("Webhook",), "authorization_webhook_config_file": None},
            "authorization-mode Webhook's authorization config file not passed",
        ),
        ({}, "cannot specify --authorization-webhook-config-file without mode Webhook"),
        (
            {"authorization_mode": ("Webhook",), "authorization_webhook_version": "v2"},
            'unsupported webhook authorizer version "v2", supported versions are "v1", "v1beta1"',
        ),
    ],
)
def test_invalid_options_are_rejected(tmp_path, changes, message):
    with pytest.raises(OptionError, match=message):
        check_authorization(options(tmp_path, **changes))


def test_malformed_kubeconfig_is_rejected(tmp_path):
    file = tmp_path / "broken"
    file.write_text("[")
    with pytest.raises(OptionError, match=f"--authorization-webhook-config-file: .*{file}"):
        check_authorization(options(tmp_path, authorization_mode=("Webhook",), authorization_webhook_config_file=file))


def test_policy_file_is_for_the_mode_abac(tmp_path):
    file = tmp_path / "policies"
    file.write_text('{"user":"alice"}\n{"user":1}\n')
    with pytest.raises(OptionError, match="authorization-mode ABAC's authorization policy file not passed"):
        check_authorization(APIServerOptions(authorization_mode=("ABAC",)))
    with pytest.raises(OptionError, match="cannot specify --authorization-policy-file without mode ABAC"):
        check_authorization(APIServerOptions(authorization_policy_file=file))
    with pytest.raises(OptionError, match=f"--authorization-policy-file: error reading policy file {file}, line 2: "):
        check_authorization(APIServerOptions(authorization_mode=("ABAC",), authorization_policy_file=file))


def test_unversioned_policies_are_reported(tmp_path, caplog):
    file = tmp_path / "policies"
    file.write_text('{"user":"alice"}\n')
    read_abac(APIServerOptions(authorization_mode=("ABAC",), authorization_policy_file=file))
    assert f"Policy file {file} contained unversioned rules." in caplog.text
