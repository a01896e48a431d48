"""Files of ``--authorization-config``: decoding, defaults, validation."""

import json
from pathlib import Path

import pytest

from steersman.apimachinery.config_file import ConfigFileError
from steersman.controlplane.authorization.authorizers import AuthorizerConfiguration, WebhookConfiguration
from steersman.controlplane.authorization.configuration import read_authorization_configuration

RBAC = {"type": "RBAC", "name": "rbac"}


def hook(tmp_path=None, /, **changes):
    """Return a valid webhook; a value of None leaves its field out."""
    file = "/none"
    if tmp_path is not None:
        (tmp_path / "config").write_text("")
        file = str(tmp_path / "config")
    webhook = {
        "timeout": "3s",
        "subjectAccessReviewVersion": "v1",
        "failurePolicy": "NoOpinion",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": file},
        **changes,
    }
    webhook = {name: value for name, value in webhook.items() if value is not None}
    return {"type": "Webhook", "name": "hook", "webhook": webhook}


def read(*authorizers, version="v1", required=(), **more):
    tree = {
        "apiVersion": f"apiserver.config.k8s.io/{version}",
        "kind": "AuthorizationConfiguration",
        "authorizers": list(authorizers),
        **more,
    }
    return read_authorization_configuration(json.dumps(tree).encode(), required_types=required)


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_configuration_is_an_ordered_list_with_defaults(tmp_path, version):
    file = tmp_path / "config"
    assert read(RBAC, hook(tmp_path), {"type": "Node", "name": "node"}, version=version) == [
        AuthorizerConfiguration("RBAC", "rbac"),
        AuthorizerConfiguration("Webhook", "hook", WebhookConfiguration(file, "v1", 300.0, 30.0, 3.0)),
        AuthorizerConfiguration("Node", "node"),
    ]


def test_webhook_has_all_fields(tmp_path):
    conditions = [{"expression": "has(request.resourceAttributes)"}, {"expression": "request.user != 'a'"}]
    (authorizer,) = read(
        hook(
            tmp_path,
            authorizedTTL="1m",
            unauthorizedTTL="0s",
            cacheAuthorizedRequests=False,
            cacheUnauthorizedRequests=True,
            failurePolicy="Deny",
            subjectAccessReviewVersion="v1beta1",
            matchConditionSubjectAccessReviewVersion="v1",
            matchConditions=conditions,
        )
    )
    assert authorizer.webhook == WebhookConfiguration(
        Path(tmp_path / "config"),
        "v1beta1",
        0.0,
        30.0,
        3.0,
        denies_on_error=True,
        expressions=tuple(condition["expression"] for condition in conditions),
    )


@pytest.mark.parametrize(
    ("authorizers", "message"),
    [
        ((), "authorizers: Required value: at least one authorization mode must be defined"),
        (({"name": "a"},), "authorizers[0].type: Required value"),
        (({"type": "Rbac", "name": "a"},), 'authorizers[0].type: Unsupported value: "Rbac"'),
        ((RBAC, RBAC), 'authorizers[1].type: Duplicate value: "RBAC"'),
        (({"type": "RBAC"},), "authorizers[0].name: Required value"),
        (({"type": "RBAC", "name": "Q"},), 'authorizers[0].name: Invalid value: "Q": authorizer name is invalid: '),
        (({"type": "Webhook", "name": "w"},), "authorizers[0].webhook: Required value: required when type=Webhook"),
        (({**RBAC, "webhook": {}},), 'authorizers[0].webhook: Invalid value: "non-null": may only be specified when'),
        (({"type": "RBAC", "name": "r"},), "expected name rbac for authorizer RBAC instead of r"),
    ],
)
def test_invalid_list_is_rejected(authorizers, message):
    with pytest.raises(ConfigFileError) as invalid:
        read(*authorizers)
    assert message in str(invalid.value)


def test_duplicate_name_is_rejected(tmp_path):
    with pytest.raises(ConfigFileError, match=r'^authorizers\[1\].name: Duplicate value: "hook"$'):
        read(hook(tmp_path), hook(tmp_path))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"timeout": None}, "timeout: Required value"),
        ({"timeout": "31s"}, 'timeout: Invalid value: "31s": must be > 0s and <= 30s'),
        ({"timeout": "-1s"}, 'timeout: Invalid value: "-1s": must be > 0s and <= 30s'),
        ({"timeout": "3 seconds"}, 'timeout: Invalid value: "3 seconds": time: '),
        ({"authorizedTTL": "-1s"}, 'authorizedTTL: Invalid value: "-1s": must be > 0s'),
        ({"unauthorizedTTL": "-1s"}, 'unauthorizedTTL: Invalid value: "-1s": must be > 0s'),
        ({"subjectAccessReviewVersion": None}, "subjectAccessReviewVersion: Required value"),
        (
            {"subjectAccessReviewVersion": "v2"},
            'subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
        ),
        (
            {"matchConditions": [{"expression": "true"}]},
            "matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified",
        ),
        (
            {"matchConditionSubjectAccessReviewVersion": "v1beta1"},
            'matchConditionSubjectAccessReviewVersion: Unsupported value: "v1beta1": supported values: "v1"',
        ),
        ({"failurePolicy": None}, "failurePolicy: Required value"),
        (
            {"failurePolicy": "Allow"},
            'failurePolicy: Unsupported value: "Allow": supported values: "NoOpinion", "Deny"',
        ),
        ({"connectionInfo": None}, "connectionInfo.type: Required value"),
        (
            {"connectionInfo": {"type": "File"}},
            'connectionInfo.type: Unsupported value: "File": supported values: "InClusterConfig", "KubeConfigFile"',
        ),
        (
            {"connectionInfo": {"type": "InClusterConfig"}},
            'connectionInfo.type: Invalid value: "InClusterConfig": is not allowed for kube-apiserver',
        ),
        (
            {"connectionInfo": {"type": "InClusterConfig", "kubeConfigFile": "/x"}},
            'connectionInfo.kubeConfigFile: Invalid value: "/x": can only be set when type=KubeConfigFile',
        ),
        ({"connectionInfo": {"type": "KubeConfigFile"}}, "connectionInfo.kubeConfigFile: Required value"),
        (
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "x"}},
            'connectionInfo.kubeConfigFile: Invalid value: "x": must be an absolute path',
        ),
        (
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/none"}},
            "error loading file: stat /none: no such file or directory",
        ),
        ({"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/"}}, "must be a regular file"),
    ],
)
def test_invalid_webhook_is_rejected(tmp_path, changes, message):
    with pytest.raises(ConfigFileError) as invalid:
        read(hook(tmp_path, **changes))
    assert message in str(invalid.value)
    assert "authorizers[0]." in str(invalid.value)


@pytest.mark.parametrize(
    ("expressions", "message"),
    [
        ([" "], "matchConditions[0].expression: Required value"),
        (["true", "true"], 'matchConditions[1].expression: Duplicate value: "true"'),
        (["request.user"], 'matchConditions[0].expression: Invalid value: "request.user": must evaluate to bool'),
        (["x"], 'matchConditions[0].expression: Invalid value: "x": compilation failed: '),
        ([f"{number} == 1" for number in range(65)], "matchConditions: Too many: 65: must have at most 64 items"),
    ],
)
def test_invalid_match_conditions_are_rejected(tmp_path, expressions, message):
    conditions = [{"expression": expression} for expression in expressions]
    with pytest.raises(ConfigFileError) as invalid:
        read(hook(tmp_path, matchConditionSubjectAccessReviewVersion="v1", matchConditions=conditions))
    assert f"authorizers[0].{message}" in str(invalid.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "at least one authorization mode must be defined"),
        (b"[", "yaml"),
        (b"kind: X\napiVersion: v1\n", 'no kind "X" is registered for version "v1"'),
        (
            b"kind: AuthorizationConfiguration\napiVersion: apiserver.config.k8s.io/v1\nauthorizer: []\n",
            'strict decoding error: unknown field "authorizer"',
        ),
    ],
)
def test_malformed_file_is_rejected(data, message):
    with pytest.raises(ConfigFileError, match=message):
        read_authorization_configuration(data)


def test_types_in_use_must_stay():
    with pytest.raises(ConfigFileError, match=r"missing required types: \[Node\]"):
        read(RBAC, required=("Node", "RBAC"))
