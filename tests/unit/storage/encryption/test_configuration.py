"""EncryptionConfiguration: decoding and upstream's validation errors."""

from __future__ import annotations

import base64
import json

import pytest

from steersman.storage.encryption.configuration import (
    ConfigurationError,
    decode_configuration,
    secret_of,
    validate_configuration,
)

SECRET = base64.b64encode(bytes(32)).decode()
AESCBC = {"aescbc": {"keys": [{"name": "key1", "secret": SECRET}]}}
PLUGIN = {"apiVersion": "v2", "name": "a", "endpoint": "unix:///run/kms.sock", "timeout": "1s"}


def config(*rules, **more):
    tree = {
        "kind": "EncryptionConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1",
        "resources": list(rules),
        **more,
    }
    return json.dumps(tree).encode()


def rule(*resources, providers=(AESCBC,)):
    return {"resources": list(resources), "providers": list(providers)}


def errors(*rules, reloads=False):
    return [str(error) for error in validate_configuration(decode_configuration(config(*rules), "f"), reloads=reloads)]


def test_yaml_with_defaults_is_decoded():
    text = b"""
kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: [secrets, "*.apps"]
  providers:
  - kms: {name: a, endpoint: "unix:///x"}
  - identity: {}
"""
    (only,) = decode_configuration(text, "f")
    ((plugin,), (identity,)) = only.providers
    assert only.resources == ("secrets", "*.apps")
    assert (plugin.kind, plugin.api_version, plugin.timeout_seconds) == ("kms", "v1", 3.0)
    assert identity.kind == "identity"


def test_secret_may_be_wrapped():
    (only,) = decode_configuration(config(rule("secrets", providers=[{"aescbc": {"keys": [{"name": "k", "secret": f"{SECRET[:9]}\n{SECRET[9:]}\n"}]}}])), "f")  # fmt: skip
    assert secret_of(only.providers[0][0].keys[0]) == bytes(32)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", 'encryption provider configuration file "f" is empty'),
        (b"[", "error decoding encryption provider configuration file"),
        (b"{}", 'no kind "" is registered for version ""'),
        (config(kind="Pod"), 'no kind "Pod" is registered for version "apiserver.config.k8s.io/v1"'),
        (config(extra=1), 'strict decoding error: unknown field "extra"'),
        (config(rule("secrets", providers=[{"aescbc": {"key": []}}])), 'unknown field "resources[0].providers[0].aescbc.key"'),
        (config({"resources": "secrets"}), 'field "resources[0].resources" must be a list'),
        (config(rule("secrets", providers=[{"kms": {"timeout": "x"}}])), 'time: invalid duration "x"'),
        (config(rule("secrets", providers=[{"kms": {"name": 1}}])), 'field "resources[0].providers[0].kms.name" must be of type string'),
    ],
)  # fmt: skip
def test_decoding_is_strict(data, message):
    with pytest.raises(ConfigurationError) as raised:
        decode_configuration(data, "f")
    assert message in str(raised.value)


def test_valid_configuration_has_no_errors():
    assert (
        errors(rule("secrets", "*.apps", "gadgets.example.com"), rule("*.*", providers=[AESCBC, {"identity": {}}]))
        == []
    )


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        ("Secrets", "resource name should not contain capital letters"),
        ("*", "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"),
        ("servicenodeportallocations", "resources which do not have REST API/s cannot be encrypted"),
        ("events.events.k8s.io", "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"),
        ("ingresses.extensions", "'extensions' group has been removed and cannot be used for encryption"),
        ("secrets.*", "encrypting the same resource across groups is not supported"),
    ],
)  # fmt: skip
def test_resource_names_are_validated(resource, message):
    assert errors(rule(resource)) == [f'resources[0].resources[0]: Invalid value: "{resource}": {message}']


def test_overlapping_and_duplicate_resources_are_errors():
    overlap = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked"
    assert errors(rule("secrets", "*.")) == [f'resources[0].resources: Invalid value: ["secrets","*."]: {overlap}']
    assert errors(rule("secrets", "*.*")) == [f'resources[0].resources: Invalid value: ["secrets","*.*"]: {overlap}']
    assert errors(rule("secrets", "secrets")) == [
        'resources[0].resources: Invalid value: ["secrets","secrets"]: the same resource cannot be specified multiple times'
    ]
    assert errors(rule("secrets", "*.apps")) == []


def test_something_is_required_everywhere():
    assert errors() == ["resources: Required value: at least one resources is required"]
    assert errors({}) == [
        "resources[0].resources: Required value: at least one resources[0].resources is required",
        "resources[0].providers: Required value: at least one resources[0].providers is required",
    ]
    assert errors(rule("secrets", providers=[{"aesgcm": {}}])) == [
        "resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required"
    ]


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ({"secret": SECRET}, "name: Required value: name is a mandatory field for a key"),
        ({"name": "a"}, "secret: Required value: secret is a mandatory field for a key"),
        ({"name": "a", "secret": "*"}, 'secret: Invalid value: "REDACTED": secrets must be base64 encoded'),
        (
            {"name": "a", "secret": "YQ=="},
            'secret: Invalid value: "REDACTED": secret is not of the expected length, got 1, expected one of [16 24 32]',
        ),
    ],
)
def test_keys_are_validated_without_showing_secrets(key, error):
    assert errors(rule("secrets", providers=[{"aescbc": {"keys": [key]}}])) == [
        f"resources[0].providers[0].aescbc.keys[0].{error}"
    ]


def test_secretbox_keys_have_32_bytes():
    key = {"name": "a", "secret": base64.b64encode(bytes(16)).decode()}
    (error,) = errors(rule("secrets", providers=[{"secretbox": {"keys": [key]}}]))
    assert error.endswith("secret is not of the expected length, got 16, expected one of [32]")


def test_element_with_none_or_several_providers_is_an_error():
    (none,) = errors(rule("secrets", providers=[{}]))
    (several,) = errors(rule("secrets", providers=[{**AESCBC, "identity": {}}]))
    assert none.endswith(
        "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
    )
    assert several.endswith(
        "more than one provider specified in a single element, should split into different list elements"
    )


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": ""}, "name: Required value: name is a mandatory field for a provider"),
        ({"name": "a:b"}, "name: Invalid value: \"a:b\": invalid KMS provider name a:b, must not contain ':'"),
        ({"timeout": "-1s"}, 'timeout: Invalid value: "-1s": timeout should be a positive value'),
        ({"endpoint": ""}, 'endpoint: Invalid value: "": endpoint is a mandatory field for a kms'),
        ({"endpoint": "tcp://x"}, 'endpoint: Invalid value: "tcp://x": unsupported scheme "tcp" for KMS provider, only unix is supported'),
        ({"cachesize": 3}, "cachesize: Invalid value: 3: cachesize is not supported in v2"),
        ({"apiVersion": "v3"}, 'apiVersion: Invalid value: "v3": unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported'),
    ],
)  # fmt: skip
def test_plugins_are_validated(change, error):
    assert errors(rule("secrets", providers=[{"kms": {**PLUGIN, **change}}])) == [
        f"resources[0].providers[0].kms.{error}"
    ]


def test_names_of_plugins_are_unique():
    (error,) = errors(rule("secrets", providers=[{"kms": PLUGIN}, {"kms": PLUGIN}]))
    assert error.endswith('name: Invalid value: "a": duplicate KMS provider name a, names must be unique')
