"""Custom kinds in kubectl: explained, validated and patched by the published documents."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.busy_machine import HANG_SECONDS
from tests.e2e.conftest import Kubectl

from steersman.testing import ControlPlane

SCHEMA = {
    "type": "object",
    "description": "Foo CRD for Testing",
    "properties": {
        "spec": {
            "type": "object",
            "description": "Specification of Foo",
            "properties": {
                "size": {"type": "string", "nullable": True},
                "port": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "inner": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
        }
    },
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "foos.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Foo", "plural": "foos", "singular": "foo"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}],
    },
}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on this machine")
    with ControlPlane() as started:
        yield started


@pytest.fixture
def kubectl(plane: ControlPlane, tmp_path: Path) -> Kubectl:
    one = Kubectl(plane, tmp_path, "default")
    (tmp_path / "definition.json").write_text(json.dumps(DEFINITION))
    one.run("apply", "-f", str(tmp_path / "definition.json"))
    one.run("wait", "--for=condition=Established", "crd/foos.example.com", f"--timeout={HANG_SECONDS}s")
    return one


def foo(**spec: Any) -> str:
    tree = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": spec}
    return json.dumps(tree)


def test_custom_kind_is_explained_in_upstreams_words(kubectl: Kubectl) -> None:
    whole = kubectl.run("explain", "foos")
    phrases = r"DESCRIPTION:.*Foo CRD for Testing.*FIELDS:.*apiVersion.*<string>.*APIVersion defines.*spec.*<Object>"
    assert re.search(phrases, whole, re.DOTALL)
    metadata = kubectl.run("explain", "foos.metadata")
    phrases = r"DESCRIPTION:.*Standard object's metadata.*FIELDS:.*creationTimestamp.*<string>.*CreationTimestamp is a"
    assert re.search(phrases, metadata, re.DOTALL)


def test_changed_custom_resource_is_applied(kubectl: Kubectl, tmp_path: Path) -> None:
    path = tmp_path / "foo.json"
    inner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "b"}}
    for port in (80, "http", None):
        path.write_text(foo(size=None, port=port, free={"any": [1]}, inner=inner))
        assert "foo.example.com/a" in kubectl.run("apply", "-f", str(path))
    kubectl.run("delete", "-f", str(path))


def test_documents_of_custom_kinds_differ_by_version(kubectl: Kubectl) -> None:
    swagger = json.loads(kubectl.run("get", "--raw", "/openapi/v2"))["definitions"]["com.example.v1.Foo"]
    spec = swagger["properties"]["spec"]["properties"]
    assert spec["size"] == {}
    assert spec["port"] == {"x-kubernetes-int-or-string": True}
    assert spec["free"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert spec["inner"].keys() == {"x-kubernetes-embedded-resource", "x-kubernetes-preserve-unknown-fields"}
    document = json.loads(kubectl.run("get", "--raw", "/openapi/v3/apis/example.com/v1"))
    spec = document["components"]["schemas"]["com.example.v1.Foo"]["properties"]["spec"]["properties"]
    assert spec["size"] == {"type": "string", "nullable": True}
    assert spec["port"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]
    assert spec["inner"]["properties"].keys() == {"apiVersion", "kind", "metadata"}
    assert spec["inner"]["required"] == ["kind", "apiVersion"]
    operations = [
        operation for item in document["paths"].values() for name, operation in item.items() if name != "parameters"
    ]
    assert all(operation.get("parameters", True) for operation in operations)
    patches = [operation for operation in operations if operation.get("x-kubernetes-action") == "patch"]
    assert patches
    assert all("strategic" not in name for patch in patches for name in patch["requestBody"]["content"])


def test_unknown_field_is_refused_by_the_published_schema(kubectl: Kubectl, plane: ControlPlane) -> None:
    done = subprocess.run(
        ["kubectl", "--kubeconfig", str(plane.kubeconfig), "create", "--dry-run=server", "-f", "-"],
        input=foo(typo=1), text=True, capture_output=True, check=False, timeout=HANG_SECONDS,
    )  # fmt: skip
    assert done.returncode != 0
    assert 'unknown field "spec.typo"' in done.stderr
