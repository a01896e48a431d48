"""What is refused of ConfigMaps and Secrets."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import told, tree

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
    return told(validate_secret(tree({"annotations": annotations or {}}, type=kind, data=named)))


@given(st.binary(max_size=50))
def test_sizes_are_those_of_what_the_texts_stand_for(content: bytes):
    assert decoded_size(b64(content)) == len(content)


@pytest.mark.parametrize("key", ["a", "a.b", "A_b-1", ".a", "a" * 253])
def test_keys_are_names_of_files(key: str):
    assert told(validate_config_map(tree(data={key: ""}))) == []


@pytest.mark.parametrize("key", ["", ".", "..", "..a", "a/b", "a b", "a" * 254])
@pytest.mark.parametrize("part", ["data", "binaryData"])
def test_keys_that_are_none_are_told_at_their_place(part: str, key: str):
    errors = told(validate_config_map(tree(**{part: {key: ""}})))
    assert errors
    assert all(error.startswith(f'{part}[{key}]: Invalid value: "{key}": ') for error in errors)


def test_a_key_is_text_or_binary():
    assert told(validate_config_map(tree(data={"k": ""}, binaryData={"k": ""}))) == [
        'data[k]: Invalid value: "k": duplicate of key present in binaryData'
    ]


def test_text_and_binary_together_have_a_size():
    half = "a" * (SIZE_MAX_BYTES // 2)
    assert told(validate_config_map(tree(data={"k": half}, binaryData={"b": b64(half)}))) == []
    assert told(validate_config_map(tree(data={"k": half + "a"}, binaryData={"b": b64(half)}))) == [
        "[]: Too long: may not be more than 1048576 bytes"
    ]


def test_size_is_counted_in_bytes():
    assert told(validate_config_map(tree(data={"k": "é" * (SIZE_MAX_BYTES // 2 + 1)}))) != []


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
def test_what_is_frozen_stays_so(new: dict, faults: list[str]):
    old = tree(immutable=True, data={"k": "v"})
    assert told(validate_frozen(tree(**new), old, "data", "binaryData")) == faults


def test_what_is_not_frozen_may_change_and_freeze():
    assert told(validate_frozen(tree(immutable=True, data={"k": "w"}), tree(data={"k": "v"}), "data")) == []


# -- secrets ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Opaque", "example.com/own", ""])
def test_most_types_may_hold_anything(kind: str):
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
def test_known_types_hold_what_they_are_for(kind: str, faults: list[str]):
    assert secret_faults(kind) == faults


def test_they_are_let_through_with_it():
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
        ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ('"a"', "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        ("1", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        ("true", "json: cannot unmarshal bool into Go value of type map[string]interface {}"),
    ],
)
def test_secrets_in_json_are_not_shown_when_they_are_none(content: str, fault: str):
    assert secret_faults("kubernetes.io/dockercfg", _dockercfg=content) == [
        f'data[.dockercfg]: Invalid value: "<secret contents redacted>": {fault}'
    ]


def test_a_secret_has_a_size():
    assert secret_faults(k="a" * SIZE_MAX_BYTES) == []
    assert secret_faults(k="a" * (SIZE_MAX_BYTES + 1)) == ["data: Too long: may not be more than 1048576 bytes"]


def test_a_secret_keeps_its_type():
    assert told(validate_secret_update(tree(type="b/b"), tree(type="a/a"))) == [
        'type: Invalid value: "b/b": field is immutable'
    ]
