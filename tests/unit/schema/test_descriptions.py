from __future__ import annotations

from steersman.schema.descriptions import describe
from steersman.schema.loader import OBJECT_META


def test_describe_returns_type_and_fields():
    text, fields = describe("io.k8s.api.apps.v1.DeploymentSpec")
    assert text.startswith("DeploymentSpec is ")
    assert fields["paused"] == "Indicates that the deployment is paused."


def test_describe_joins_wrapped_lines():
    _, fields = describe(OBJECT_META)
    assert "\n" not in fields["annotations"]


def test_describe_separates_paragraphs_and_list_items():
    _, meta = describe(OBJECT_META)
    assert "\n\nPopulated by the system. Read-only." in meta["uid"]
    _, rule = describe("io.k8s.api.batch.v1.PodFailurePolicyRule")
    assert rule["action"].count("\n- ") == 4


def test_describe_keeps_two_spaces_after_a_sentence():
    _, level = describe("io.k8s.api.flowcontrol.v1.QueuingConfiguration")
    assert "positive.  Setting it to 1" in level["queues"]


def test_describe_finds_fields_with_invalid_python_names():
    _, ingress_rule = describe("io.k8s.api.networking.v1.NetworkPolicyIngressRule")
    _, schema = describe("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert ingress_rule["from"]
    assert schema["x-kubernetes-map-type"]


def test_describe_includes_the_version_type():
    text, fields = describe("io.k8s.apimachinery.pkg.version.Info")
    assert text
    assert "gitVersion" in fields


def test_describe_of_an_undocumented_type_is_empty():
    assert describe("io.example.v1.Nothing") == ("", {})
