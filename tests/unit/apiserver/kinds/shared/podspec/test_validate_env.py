"""Validation of environment variables and references."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.validate_env import (
    ENV_FIELDS,
    VOLUME_FIELDS,
    check_object_field,
    check_resource_field,
    validate_env,
    validate_env_from,
)

P = Path("env")
VOLUMES = {"empty": {"name": "empty", "emptyDir": {}}, "host": {"name": "host", "hostPath": {"path": "/"}}}


def faults(source: dict | None = None, **variable: object) -> list[str]:
    more = {} if source is None else {"valueFrom": source}
    return error_texts(validate_env([{"name": "A", **variable, **more}], P, VOLUMES))


@pytest.mark.parametrize(
    "source",
    [
        None,
        {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
        {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels['a.b/c']"}},
        {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['A']"}},
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}},
        {"resourceFieldRef": {"resource": "requests.hugepages-2Mi", "divisor": "1Mi"}},
        {"configMapKeyRef": {"name": "m", "key": "k"}},
        {"secretKeyRef": {"name": "s", "key": "k"}},
        {"fileKeyRef": {"volumeName": "empty", "path": "p", "key": "K"}},
    ],
)
def test_validate_env_accepts_all_sources(source: dict | None):
    assert faults(source) == []


@pytest.mark.parametrize("name", ["A", "a.b-c", "1", "with space"])
def test_validate_env_accepts_relaxed_names(name: str):
    assert faults(name=name) == []


def test_validate_env_rejects_empty_names_and_equals_signs():
    assert faults(name="") == ["env[0].name: Required value"]
    (fault,) = faults(name="a=b")
    assert fault.startswith('env[0].name: Invalid value: "a=b": a valid environment variable name')


@pytest.mark.parametrize(
    ("source", "detail"),
    [
        (
            {},
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        ),
        (
            {"secretKeyRef": {"name": "s", "key": "k"}, "configMapKeyRef": {"name": "s", "key": "k"}},
            "may not have more than one field specified at a time",
        ),
    ],
)
def test_validate_env_rejects_invalid_sources(source: dict, detail: str):
    assert faults(source) == [f'env[0].valueFrom: Invalid value: "": {detail}']


def test_validate_env_rejects_value_with_source():
    assert faults({"secretKeyRef": {"name": "s", "key": "k"}}, value="v") == [
        'env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'
    ]


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ({"key": ""}, "env[0].valueFrom.fileKeyRef.key: Required value"),
        ({"volumeName": ""}, "env[0].valueFrom.fileKeyRef.volumeName: Required value"),
        ({"volumeName": "no"}, 'env[0].valueFrom.fileKeyRef.volumeName: Not found: "no"'),
        (
            {"volumeName": "host"},
            'env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "host": volume must be of type emptyDir',
        ),
        ({"path": ""}, "env[0].valueFrom.fileKeyRef.path: Required value"),
        ({"path": "/a"}, 'env[0].valueFrom.fileKeyRef.path: Invalid value: "/a": must be a relative path'),
    ],
)
def test_validate_env_requires_empty_dir_volume_for_file_key_ref(part: dict, fault: str):
    assert faults({"fileKeyRef": {"volumeName": "empty", "path": "p", "key": "K", **part}}) == [fault]


def test_validate_env_reports_invalid_and_missing_volume_name():
    label, absent = faults({"fileKeyRef": {"volumeName": "a/b", "path": "p", "key": "K"}})
    assert label.startswith('env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "a/b": a lowercase RFC 1123 label')
    assert absent == 'env[0].valueFrom.fileKeyRef.volumeName: Not found: "a/b"'


def test_validate_env_applies_config_map_key_rules():
    assert faults({"secretKeyRef": {"name": "s"}}) == ["env[0].valueFrom.secretKeyRef.key: Required value"]
    (fault,) = faults({"secretKeyRef": {"name": "s", "key": "a/b"}})
    assert fault.startswith('env[0].valueFrom.secretKeyRef.key: Invalid value: "a/b": a valid config key must consist')


# -- references -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ref", "fault"),
    [
        ({"fieldPath": "metadata.name"}, "env.apiVersion: Required value"),
        ({"apiVersion": "v1"}, "env.fieldPath: Required value"),
        (
            {"apiVersion": "v2", "fieldPath": "metadata.name"},
            'env.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported pod version: v2',
        ),
        (
            {"apiVersion": "v1", "fieldPath": "spec.what"},
            (
                'env.fieldPath: Invalid value: "spec.what": '
                "error converting fieldPath: field label not supported: spec.what"
            ),
        ),
        (
            {"apiVersion": "v1", "fieldPath": "metadata.name['a']"},
            (
                "env.fieldPath: Invalid value: \"metadata.name['a']\": "
                "error converting fieldPath: field label does not support subscript: metadata.name['a']"
            ),
        ),
        (
            {"apiVersion": "v1", "fieldPath": "status.hostIP"},
            (
                'env.fieldPath: Unsupported value: "status.hostIP": supported values: "metadata.annotations", '
                '"metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"'
            ),
        ),
    ],
)
def test_check_object_field_accepts_fields_of_downward_api_files(ref: dict, fault: str):
    assert error_texts(check_object_field(ref, VOLUME_FIELDS, P)) == [fault]


@pytest.mark.parametrize("name", [*ENV_FIELDS, "spec.host"])
def test_check_object_field_accepts_more_fields_in_env(name: str):
    assert error_texts(check_object_field({"apiVersion": "v1", "fieldPath": name}, ENV_FIELDS, P)) == []


def test_check_object_field_rejects_whole_maps_in_env():
    ref = {"apiVersion": "v1", "fieldPath": "metadata.labels"}
    (fault,) = error_texts(check_object_field(ref, ENV_FIELDS, P))
    assert fault.startswith('env.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name"')


@pytest.mark.parametrize(
    ("ref", "needs_container", "fault"),
    [
        ({"resource": "limits.cpu"}, True, "env.containerName: Required value"),
        ({}, False, "env.resource: Required value"),
        (
            {"resource": "limits.gpu"},
            False,
            (
                'env.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", '
                '"limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"'
            ),
        ),
        (
            {"resource": "limits.cpu", "divisor": "1k"},
            False,
            (
                'env.divisor: Invalid value: "limits.cpu": '
                "only divisor's values 1m and 1 are supported with the cpu resource"
            ),
        ),
    ],
)
def test_check_resource_field_checks_divisors(ref: dict, needs_container: bool, fault: str):
    assert error_texts(check_resource_field(ref, P, needs_container=needs_container)) == [fault]


@pytest.mark.parametrize("divisor", ["0", "1", "1k", "1Ki", "1Mi", "1E", "1Ei"])
def test_check_resource_field_accepts_powers_for_bytes(divisor: str):
    assert (
        error_texts(check_resource_field({"resource": "limits.memory", "divisor": divisor}, P, needs_container=False))
        == []
    )


# -- envFrom -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ({"configMapRef": {}}, "env[0].configMapRef.name: Required value"),
        ({"secretRef": {}}, "env[0].secretRef.name: Required value"),
        ({}, 'env: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'),
        (
            {"configMapRef": {"name": "a"}, "secretRef": {"name": "a"}},
            'env: Invalid value: "": may not have more than one field specified at a time',
        ),
    ],
)
def test_validate_env_from_requires_one_source(source: dict, fault: str):
    assert error_texts(validate_env_from([source], P)) == [fault]


def test_validate_env_from_accepts_prefix():
    assert error_texts(validate_env_from([{"prefix": "P_", "configMapRef": {"name": "a"}}], P)) == []
