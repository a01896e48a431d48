from __future__ import annotations

from steersman.schema.descriptions import describe
from steersman.schema.loader import OBJECT_META


def test_a_type_and_its_fields_are_described():
    text, fields = describe("io.k8s.api.apps.v1.DeploymentSpec")
    assert text.startswith("DeploymentSpec is ")
    assert fields["paused"] == "Indicates that the deployment is paused."


def test_wrapped_lines_are_joined():
    _, fields = describe(OBJECT_META)
    assert "\n" not in fields["annotations"]


def test_paragraphs_and_items_of_lists_are_told_apart():
    _, meta = describe(OBJECT_META)
    assert "\n\nPopulated by the system. Read-only." in meta["uid"]
    _, rule = describe("io.k8s.api.batch.v1.PodFailurePolicyRule")
    assert rule["action"].count("\n- ") == 4


def test_two_spaces_after_a_sentence_stay():
    _, level = describe("io.k8s.api.flowcontrol.v1.QueuingConfiguration")
    assert "positive.  Setting it to 1" in level["queues"]


def test_fields_that_python_cannot_name_are_found():
    _, ingress_rule = describe("io.k8s.api.networking.v1.NetworkPolicyIngressRule")
    _, schema = describe("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert ingress_rule["from"]
    assert schema["x-kubernetes-map-type"]


def test_the_version_is_described_too():
    text, fields = describe("io.k8s.apimachinery.pkg.version.Info")
    assert text
    assert "gitVersion" in fields


def test_what_nobody_described_has_empty_texts():
    assert describe("io.example.v1.Nothing") == ("", {})
