from __future__ import annotations

import pytest

from steersman.schema.resources import table


@pytest.mark.parametrize(
    ("group", "name", "prefix"),
    [
        ("", "pods", "/registry/pods"),
        ("", "services", "/registry/services/specs"),
        ("", "endpoints", "/registry/services/endpoints"),
        ("", "nodes", "/registry/minions"),
        ("", "replicationcontrollers", "/registry/controllers"),
        ("apps", "deployments", "/registry/deployments"),
        ("networking.k8s.io", "ingresses", "/registry/ingress"),
        ("events.k8s.io", "events", "/registry/events"),
        (
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "/registry/apiextensions.k8s.io/customresourcedefinitions",
        ),
        ("authentication.k8s.io", "tokenreviews", ""),
    ],
)
def test_storage_prefixes_are_those_of_kube_apiserver(group, name, prefix):
    resource = table().get(group, "v1", name)
    assert resource is not None
    assert resource.key_prefix == prefix


@pytest.mark.parametrize(
    ("group", "version", "name", "stored"),
    [
        ("autoscaling", "v1", "horizontalpodautoscalers", "autoscaling/v2"),
        ("autoscaling", "v2", "horizontalpodautoscalers", "autoscaling/v2"),
        ("events.k8s.io", "v1", "events", "v1"),
        ("coordination.k8s.io", "v1alpha2", "leasecandidates", "coordination.k8s.io/v1beta1"),
        ("apps", "v1", "deployments", "apps/v1"),
        ("", "v1", "pods", "v1"),
    ],
)
def test_versions_of_one_resource_share_their_storage(group, version, name, stored):
    resource = table().get(group, version, name)
    assert resource is not None
    assert resource.storage_api_version == stored


def test_storage_prefixes_are_unique():
    places = {(resource.key_prefix, resource.kind) for resource in table().resources if resource.key_prefix}
    assert len(places) == len({prefix for prefix, _ in places})


def test_groups_are_in_discovery_order():
    names = [group.name for group in table().groups]
    assert names[:4] == ["apiregistration.k8s.io", "", "apps", "events.k8s.io"]
    assert names[-3:] == ["discovery.k8s.io", "resource.k8s.io", "flowcontrol.apiserver.k8s.io"]


def test_preferred_version_has_the_highest_priority():
    preferred = {group.name: group.versions[0].name for group in table().groups}
    assert preferred["autoscaling"] == "v2"
    assert preferred["coordination.k8s.io"] == "v1"


def test_table_finds_resources_by_name_and_kind():
    by_name = table().get("apps", "v1", "deployments")
    assert by_name is not None
    assert by_name is table().of_kind("apps", "v1", "Deployment")
    assert (by_name.api_version, by_name.group_resource) == ("apps/v1", "deployments.apps")


def test_of_version_sorts_resources_by_name():
    assert [resource.name for resource in table().of_version("batch", "v1")] == ["cronjobs", "jobs"]


def test_get_is_none_for_an_unknown_resource():
    assert table().get("apps", "v1beta1", "deployments") is None
    assert table().of_kind("apps", "v1", "Pod") is None


def test_subresource_names_the_group_of_its_kind():
    pods = table().get("", "v1", "pods")
    assert pods is not None
    by_name = {subresource.name: subresource for subresource in pods.subresources}
    assert (by_name["eviction"].group, by_name["eviction"].version) == ("policy", "v1")
    assert by_name["status"].group == ""
