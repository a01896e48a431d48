"""Choice of transformers by prefix and by resource."""

from __future__ import annotations

import pytest

from steersman.storage.encryption.ciphers import AesCbc, AesGcm
from steersman.storage.encryption.transformers import (
    DecryptionError,
    Identity,
    PrefixTransformers,
    ResourceTransformers,
    group_resource_text,
    parse_group_resource,
)

OLD, NEW = AesGcm(b"o" * 32), AesGcm(b"n" * 32)


def keys(*named):
    return PrefixTransformers("no matching key was found", [(f"{name}:".encode(), cipher) for name, cipher in named])


def test_identity_refuses_encrypted_values():
    assert Identity().encrypt(b"{}", b"k") == b"{}"
    assert Identity().decrypt(b"{}", b"k") == (b"{}", False)
    with pytest.raises(DecryptionError, match="identity transformer tried to read encrypted data"):
        Identity().decrypt(b"k8s:enc:aescbc:v1:", b"k")


def test_first_transformer_encrypts_and_its_values_are_current():
    transformers = keys(("new", NEW), ("old", OLD))
    value = transformers.encrypt(b"secret", b"k")
    assert value.startswith(b"new:")
    assert transformers.decrypt(value, b"k") == (b"secret", False)


def test_values_of_other_transformers_are_stale():
    assert keys(("new", NEW), ("old", OLD)).decrypt(keys(("old", OLD)).encrypt(b"secret", b"k"), b"k") == (
        b"secret",
        True,
    )


def test_transformers_with_the_same_prefix_are_tried_in_order():
    value = keys(("key1", OLD)).encrypt(b"secret", b"k")
    assert keys(("key1", NEW), ("key1", OLD)).decrypt(value, b"k") == (b"secret", True)


def test_value_without_a_matching_prefix_is_rejected():
    with pytest.raises(DecryptionError, match="no matching key was found"):
        keys(("new", NEW)).decrypt(b"other:xxx", b"k")


def test_identity_first_reads_values_of_later_providers():
    encrypted = PrefixTransformers("", [(b"k8s:enc:aescbc:v1:", keys(("a", AesCbc(b"k" * 32))))])
    migrating = PrefixTransformers("none", [(b"", Identity()), (b"k8s:enc:aescbc:v1:", keys(("a", AesCbc(b"k" * 32))))])
    assert migrating.decrypt(encrypted.encrypt(b"secret", b"k"), b"k") == (b"secret", True)
    assert migrating.encrypt(b"{}", b"k") == b"{}"


def test_plain_value_is_unreadable_without_the_identity_provider():
    encrypted = PrefixTransformers("no matching prefix found", [(b"k8s:enc:aescbc:v1:", keys(("a", NEW)))])
    with pytest.raises(DecryptionError, match="no matching prefix found"):
        encrypted.decrypt(b"{}", b"k")


@pytest.mark.parametrize(
    ("text", "resource"),
    [("secrets", ("secrets", "")), ("*.", ("*", "")), ("*.apps", ("*", "apps")), ("*.*", ("*", "*")),
     ("gadgets.example.com", ("gadgets", "example.com"))],
)  # fmt: skip
def test_group_resources_as_configurations_name_them(text, resource):
    assert parse_group_resource(text) == resource
    assert group_resource_text(resource) == text


def test_resource_transformers_prefer_the_most_specific_rule():
    exact, group, every = keys(("a", OLD)), keys(("b", OLD)), keys(("c", OLD))
    transformers = ResourceTransformers({("secrets", ""): exact, ("*", ""): group, ("*", "*"): every})
    assert transformers.get(("secrets", "")) is exact
    assert transformers.get(("configmaps", "")) is group
    assert transformers.get(("deployments", "apps")) is every
    assert ResourceTransformers({("*", ""): group}).get(("deployments", "apps")) is None
