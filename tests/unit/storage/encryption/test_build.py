"""Transformers of configurations."""

from __future__ import annotations

import base64

import pytest
import yaml
from tests.unit.storage.encryption.plugin import Plugin

from steersman.asynckit.clock import FakeClock
from steersman.storage.encryption.build import load_encryption
from steersman.storage.encryption.configuration import ConfigurationError

CONTEXT = b"/registry/secrets/default/a"


def key(name, byte=b"k", size=32):
    return {"name": name, "secret": base64.b64encode(byte * size).decode()}


def load(*rules):
    tree = {
        "kind": "EncryptionConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1",
        "resources": [{"resources": list(resources), "providers": list(providers)} for resources, providers in rules],
    }
    return load_encryption(yaml.safe_dump(tree).encode(), "f", clock=FakeClock(), open_kms=lambda _: Plugin())


@pytest.mark.parametrize("provider", ["aesgcm", "aescbc", "secretbox"])
def test_values_have_upstreams_prefix_and_the_name_of_the_key(provider):
    transformer = load((["secrets"], [{provider: {"keys": [key("key1")]}}])).transformers.get(("secrets", ""))
    value = transformer.encrypt(b"secret", CONTEXT)
    assert value.startswith(f"k8s:enc:{provider}:v1:key1:".encode())
    assert transformer.decrypt(value, CONTEXT) == (b"secret", False)


async def test_values_of_a_plugin_have_its_name():
    kms = {"kms": {"apiVersion": "v2", "name": "vault", "endpoint": "unix:///x"}}
    encryption = load((["secrets"], [kms]))
    await encryption.plugins[0].probe()
    assert encryption.transformers.get(("secrets", "")).encrypt(b"x", CONTEXT).startswith(b"k8s:enc:kms:v2:vault:")


def test_keys_and_providers_are_rotated():
    old = load((["secrets"], [{"aescbc": {"keys": [key("key1")]}}])).transformers.get(("secrets", ""))
    value = old.encrypt(b"secret", CONTEXT)
    second_key = load((["secrets"], [{"aescbc": {"keys": [key("key2", b"2"), key("key1")]}}]))
    other_provider = load((["secrets"], [{"aesgcm": {"keys": [key("a")]}}, {"aescbc": {"keys": [key("key1")]}}]))
    for encryption in (second_key, other_provider):
        assert encryption.transformers.get(("secrets", "")).decrypt(value, CONTEXT) == (b"secret", True)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (["*."], ["secrets"], 'resource "secrets" is masked by earlier rule "*."'),
        (["*.*"], ["deployments.apps"], 'resource "deployments.apps" is masked by earlier rule "*.*"'),
        (["*.*"], ["*.apps"], 'resource "*.apps" is masked by earlier rule "*.*"'),
    ],
)
def test_masked_rules_are_errors(first, second, message):
    with pytest.raises(ConfigurationError) as raised:
        load((first, [{"identity": {}}]), (second, [{"identity": {}}]))
    assert str(raised.value) == f"error while building transformers: {message}"


def test_kms_v1_is_refused_without_naming_its_feature_gate():
    with pytest.raises(ConfigurationError, match=r"KMSv1 is not supported\. Use KMSv2 instead\.$"):
        load((["secrets"], [{"kms": {"apiVersion": "v1", "name": "a", "endpoint": "unix:///x"}}]))


def test_errors_of_validation_are_joined():
    with pytest.raises(ConfigurationError) as raised:
        load((["*"], []))
    assert str(raised.value).startswith("error while parsing file: [resources[0].resources[0]: Invalid value")
