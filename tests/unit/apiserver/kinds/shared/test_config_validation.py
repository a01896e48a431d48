"""Validation of ConfigMaps and Secrets."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import error_texts, tree

from steersman.apiserver.kinds.shared.config_validation import (
    SIZE_MAX_BYTES,
    decoded_size,
    validate_config_map,
    validate_frozen,
    validate_secret,
    validate_secret_update,
)

FROZEN = "Forbidden: field is immutable when `immutable` is set"


def b64(text: str | bytes) -> str:
    return b64encode(text.encode() if isinstance(text, str) else text).decode()


def secret_faults(kind: str = "Opaque", annotations: dict | None = None, **data: str) -> list[str]:
    named = {name.replace("__", "-").replace("_", "."): b64(value) for name, value in data.items()}
    return error_texts(validate_secret(tree({"annotations": annotations or {}}, type=kind, data=named)))


@given(st.binary(max_size=50))
def test_decoded_size_of_base64(content: bytes):
    assert decoded_size(b64(content)) == len(content)


@pytest.mark.parametrize("key", ["a", "a.b", "A_b-1", ".a", "a" * 253])
def test_validate_config_map_accepts_valid_keys(key: str):
    assert error_texts(validate_config_map(tree(data={key: ""}))) == []


@pytest.mark.parametrize("key", ["", ".", "..", "..a", "a/b", "a b", "a" * 254])
@pytest.mark.parametrize("part", ["data", "binaryData"])
def test_validate_config_map_reports_invalid_keys_with_path(part: str, key: str):
    errors = error_texts(validate_config_map(tree(**{part: {key: ""}})))
    assert errors
    assert all(error.startswith(f'{part}[{key}]: Invalid value: "{key}": ') for error in errors)


def test_validate_config_map_rejects_key_in_data_and_binary_data():
    assert error_texts(validate_config_map(tree(data={"k": ""}, binaryData={"k": ""}))) == [
        'data[k]: Invalid value: "k": duplicate of key present in binaryData'
    ]


def test_validate_config_map_limits_total_size():
    half = "a" * (SIZE_MAX_BYTES // 2)
    assert error_texts(validate_config_map(tree(data={"k": half}, binaryData={"b": b64(half)}))) == []
    assert error_texts(validate_config_map(tree(data={"k": half + "a"}, binaryData={"b": b64(half)}))) == [
        "[]: Too long: may not be more than 1048576 bytes"
    ]


def test_validate_config_map_counts_size_in_bytes():
    assert error_texts(validate_config_map(tree(data={"k": "é" * (SIZE_MAX_BYTES // 2 + 1)}))) != []


# -- immutable ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "faults"),
    [
        ({"immutable": True, "data": {"k": "v"}}, []),
        ({"immutable": True, "data": {"k": "w"}}, [f"data: {FROZEN}"]),
        ({"immutable": False, "data": {"k": "v"}}, [f"immutable: {FROZEN}"]),
        ({"data": {"k": "w"}}, [f"immutable: {FROZEN}", f"data: {FROZEN}"]),
        ({"immutable": True, "data": {"k": "v"}, "binaryData": {}}, []),
        ({"immutable": True, "data": {"k": "v"}, "binaryData": {"b": ""}}, [f"binaryData: {FROZEN}"]),
    ],
)
def test_validate_frozen_rejects_changes_of_immutable_objects(new: dict, faults: list[str]):
    old = tree(immutable=True, data={"k": "v"})
    assert error_texts(validate_frozen(tree(**new), old, "data", "binaryData")) == faults


def test_validate_frozen_accepts_changes_of_mutable_objects():
    assert error_texts(validate_frozen(tree(immutable=True, data={"k": "w"}), tree(data={"k": "v"}), "data")) == []


# -- secrets ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Opaque", "example.com/own", ""])
def test_validate_secret_accepts_any_data_of_opaque_types(kind: str):
    assert secret_faults(kind) == []


@pytest.mark.parametrize(
    ("kind", "faults"),
    [
        ("kubernetes.io/basic-auth", ["data[username]: Required value", "data[password]: Required value"]),
        ("kubernetes.io/ssh-auth", ["data[ssh-privatekey]: Required value"]),
        ("kubernetes.io/tls", ["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        ("kubernetes.io/dockercfg", ["data[.dockercfg]: Required value"]),
        ("kubernetes.io/dockerconfigjson", ["data[.dockerconfigjson]: Required value"]),
        (
            "kubernetes.io/service-account-token",
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
    ],
)
def test_validate_secret_requires_keys_of_known_types(kind: str, faults: list[str]):
    assert secret_faults(kind) == faults


def test_validate_secret_accepts_known_types_with_keys():
    assert secret_faults("kubernetes.io/basic-auth", password="p") == []
    assert secret_faults("kubernetes.io/ssh-auth", ssh__privatekey="k") == []
    assert secret_faults("kubernetes.io/tls", tls_crt="", tls_key="") == []
    assert secret_faults("kubernetes.io/dockercfg", _dockercfg="{}") == []
    assert secret_faults("kubernetes.io/service-account-token", {"kubernetes.io/service-account.name": "a"}) == []


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("x", "invalid character 'x' looking for beginning of value"),
        ("foo", "invalid character 'o' in literal false (expecting 'a')"),
        ("{a", "invalid character 'a' looking for beginning of object key string"),
        ("{} x", "invalid character 'x' after top-level value"),
        ('{"a":"\\x"}', "invalid character 'x' in string escape code"),
        ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ('"a"', "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        ("1", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        ("true", "json: cannot unmarshal bool into Go value of type map[string]interface {}"),
    ],
)
def test_validate_secret_does_not_disclose_invalid_json(content: str, fault: str):
    assert secret_faults("kubernetes.io/dockercfg", _dockercfg=content) == [
        f'data[.dockercfg]: Invalid value: "<secret contents redacted>": {fault}'
    ]


def test_validate_secret_limits_size():
    assert secret_faults(k="a" * SIZE_MAX_BYTES) == []
    assert secret_faults(k="a" * (SIZE_MAX_BYTES + 1)) == ["data: Too long: may not be more than 1048576 bytes"]


def test_validate_secret_update_rejects_change_of_type():
    assert error_texts(validate_secret_update(tree(type="b/b"), tree(type="a/a"))) == [
        'type: Invalid value: "b/b": field is immutable'
    ]
