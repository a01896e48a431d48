"""Operations of resources."""

import msgspec
import pytest

from steersman.apiserver.openapi.operations import (
    LIST_PARAMETERS,
    discovery_operations,
    prefix_of,
    resource_operations,
    tag_of,
)
from steersman.schema.resources import Resource, Subresource, table


def no_definition(_group: str, _version: str, _kind: str) -> str:
    return ""


def operations(group: str, version: str, name: str) -> dict:
    resource = table().get(group, version, name)
    assert resource is not None
    return {o.operation_id: o for o in resource_operations(resource, no_definition)}


@pytest.mark.parametrize(
    ("group", "prefix", "tag"),
    [
        ("", "CoreV1", "core_v1"),
        ("apps", "AppsV1", "apps_v1"),
        ("rbac.authorization.k8s.io", "RbacAuthorizationV1", "rbacAuthorization_v1"),
        ("flowcontrol.apiserver.k8s.io", "FlowcontrolApiserverV1", "flowcontrolApiserver_v1"),
    ],
)
def test_prefix_and_tag_of_groups(group, prefix, tag):
    assert (prefix_of(group, "v1"), tag_of(group, "v1")) == (prefix, tag)


def test_namespaced_resource_is_listed_per_namespace_and_cluster_wide():
    result = operations("apps", "v1", "deployments")
    assert result["listAppsV1NamespacedDeployment"].path == "/apis/apps/v1/namespaces/{namespace}/deployments"
    assert result["listAppsV1DeploymentForAllNamespaces"].path == "/apis/apps/v1/deployments"


def test_cluster_scoped_resource_is_listed_once():
    assert "listCoreV1Node" in operations("", "v1", "nodes")


def test_subresources_of_another_kind_have_that_kind():
    assert operations("apps", "v1", "deployments")["readAppsV1NamespacedDeploymentScale"].gvk == (
        "autoscaling",
        "v1",
        "Scale",
    )


def test_proxy_has_every_method_with_and_without_path():
    result = [i for i in operations("", "v1", "services") if "Proxy" in i]
    assert len(result) == 14


def test_logs_are_text():
    assert operations("", "v1", "pods")["readCoreV1NamespacedPodLog"].answer == "string"


def test_reviews_can_only_be_created():
    assert list(operations("authentication.k8s.io", "v1", "tokenreviews")) == ["createAuthenticationV1TokenReview"]


def test_discovery_operations_cover_each_group_and_version():
    ids = [o.operation_id for o in discovery_operations([("", "v1"), ("autoscaling", "v2"), ("autoscaling", "v1")])]
    assert ids.count("getAutoscalingAPIGroup") == 1
    assert {"getCoreV1APIResources", "getAutoscalingV1APIResources", "getAutoscalingV2APIResources"} <= set(ids)


PATCHES_OF_BUILT_IN_KINDS = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
PATCHES_OF_CUSTOM_KINDS = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
)
GADGETS = Resource(
    "example.com",
    "v1",
    "gadgets",
    "Gadget",
    "gadget",
    namespaced=True,
    verbs=("create", "deletecollection", "get", "list", "patch", "update", "watch"),
    subresources=(
        Subresource("status", "Gadget", ("get", "patch", "update"), "example.com", "v1"),
        Subresource("scale", "Scale", ("get", "patch", "update"), "autoscaling", "v1"),
    ),
)


def test_every_patch_of_built_in_kinds_consumes_strategic_merge():
    for resource in table().resources:
        for operation in resource_operations(resource, no_definition):
            if operation.action == "patch":
                assert operation.consumes == PATCHES_OF_BUILT_IN_KINDS, operation.operation_id


def test_patches_of_custom_kinds_consume_no_strategic_merge_on_any_path():
    patches = {o.path.rpartition("}")[2]: o for o in resource_operations(GADGETS, no_definition) if o.method == "PATCH"}
    assert patches.keys() == {"", "/status", "/scale"}
    assert {o.consumes for o in patches.values()} == {PATCHES_OF_CUSTOM_KINDS}
    assert {o.gvk for o in patches.values()} == {("example.com", "v1", "Gadget")}


def test_writes_of_custom_kinds_consume_json_and_yaml():
    writes = [o for o in resource_operations(GADGETS, no_definition) if o.method in ("POST", "PUT")]
    assert {o.consumes for o in writes} == {("application/json", "application/yaml")}


def test_custom_kinds_publish_no_watch_paths_and_no_streams():
    result = list(resource_operations(GADGETS, no_definition))
    assert not [o.path for o in result if "/watch/" in o.path]
    assert {o.produces for o in result} == {("application/json", "application/yaml")}


def test_responses_of_built_in_kinds_have_upstreams_media_types():
    protobuf = "application/vnd.kubernetes.protobuf"
    all_types = ("application/json", "application/yaml", protobuf)
    pods = operations("", "v1", "pods")
    assert pods["readCoreV1NamespacedPod"].produces == all_types
    streams = ("application/json;stream=watch", f"{protobuf};stream=watch")
    for name in ("listCoreV1NamespacedPod", "watchCoreV1NamespacedPod"):
        assert pods[name].produces == (*all_types, *streams)
    assert pods["readCoreV1NamespacedPodLog"].produces == ("text/plain", *all_types)
    assert pods["connectCoreV1GetNamespacedPodExec"].produces == ("*/*",)
    keys = {o.path: o for o in discovery_operations([])}["/openid/v1/jwks/"]
    assert (keys.consumes, keys.produces) == ((), ("application/jwk-set+json",))


def test_custom_kinds_publish_upstreams_parameters_bodies_and_codes():
    by_action = {o.action: o for o in resource_operations(GADGETS, no_definition) if not o.path.endswith("status")}
    assert by_action["patch"].codes == (200, 401)
    assert "force" in by_action["patch"].query
    deletion = by_action["deletecollection"]
    assert (deletion.query, deletion.body) == (LIST_PARAMETERS, None)


def test_lists_have_the_declared_kind():
    gadgets = msgspec.structs.replace(GADGETS, declared_list_kind="GadgetSet")
    for resource, kind in ((GADGETS, "GadgetList"), (gadgets, "GadgetSet")):
        answers = {o.answer for o in resource_operations(resource, lambda *gvk: f"a.{gvk[2]}") if o.action == "list"}
        assert answers == {f"a.{kind}"}
