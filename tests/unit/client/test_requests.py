"""Paths, query parameters and bodies of requests."""

import json
from datetime import UTC, datetime

import pytest
from lightkube.models.coordination_v1 import Lease, LeaseSpec
from lightkube.models.core_v1 import Pod
from lightkube.models.meta_v1 import ObjectMeta

from steersman.client import requests
from steersman.client.resource_types import custom, tree

PODS = tree("v1", "Pod").info
NODES = tree("v1", "Node").info
DEPLOYMENTS = tree("apps/v1", "Deployment").info
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("info", "parts", "path"),
    [
        (PODS, {}, "/api/v1/pods"),
        (PODS, {"namespace": "a"}, "/api/v1/namespaces/a/pods"),
        (PODS, {"namespace": "a", "name": "b", "subresource": "status"}, "/api/v1/namespaces/a/pods/b/status"),
        (DEPLOYMENTS, {"namespace": "a"}, "/apis/apps/v1/namespaces/a/deployments"),
        (NODES, {"name": "n"}, "/api/v1/nodes/n"),
        (custom("example.com/v1", "Widget", plural="widgets").info, {}, "/apis/example.com/v1/widgets"),
    ],
)
def test_resource_path_of_resources_and_subresources(info, parts, path):
    assert requests.resource_path(info, **parts) == path


@pytest.mark.parametrize("name", ["a/b", "..", ".", "a%2fb"])
def test_resource_path_rejects_path_separators(name):
    with pytest.raises(ValueError, match="cannot be part of a path"):
        requests.resource_path(PODS, namespace="a", name=name)


def test_named_path_requires_a_name():
    with pytest.raises(ValueError, match="resource name may not be empty"):
        requests.named_path(PODS, namespace="a", name="")


def test_named_path_requires_a_namespace():
    with pytest.raises(ValueError, match="an empty namespace may not be set when a resource name is provided"):
        requests.named_path(PODS, namespace="", name="a")


def test_resource_path_rejects_a_namespace_for_cluster_scoped_resources():
    with pytest.raises(ValueError, match="nodes are not in namespaces"):
        requests.resource_path(NODES, namespace="a")


def test_list_query_has_all_options():
    options = {
        "label_selector": {"app": "web", "tier": "a"},
        "field_selector": "spec.nodeName=n",
        "resource_version": "5",
    }
    assert requests.list_query(options, limit=3, continue_token="t") == (
        ("labelSelector", "app=web,tier=a"),
        ("fieldSelector", "spec.nodeName=n"),
        ("resourceVersion", "5"),
        ("limit", "3"),
        ("continue", "t"),
    )


def test_list_query_omits_empty_options():
    assert requests.list_query({"label_selector": "", "resource_version": ""}) == ()


def test_watch_query_of_a_streaming_list():
    options = {"resource_version_match": "NotOlderThan", "timeout_seconds": 300}
    assert requests.watch_query(options, send_initial_events=True) == (
        ("resourceVersionMatch", "NotOlderThan"),
        ("timeoutSeconds", "300"),
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("sendInitialEvents", "true"),
    )


def test_write_query_has_all_options():
    options = {"dry_run": True, "field_validation": "Strict", "field_manager": "me"}
    assert requests.write_query(options) == (("dryRun", "All"), ("fieldManager", "me"), ("fieldValidation", "Strict"))
    assert requests.write_query({}, field_manager="me", force=False) == (("fieldManager", "me"), ("force", "false"))


def test_delete_without_options_has_no_body():
    assert requests.delete("/api/v1/nodes/n", {}).body is None


def test_delete_sends_its_options():
    options = {
        "grace_period_seconds": 0,
        "propagation_policy": "Orphan",
        "uid": "u",
        "resource_version": "7",
        "dry_run": True,
    }
    assert json.loads(requests.delete("/x", options).body) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "dryRun": ["All"],
    }


def test_encode_omits_unset_fields():
    request = requests.write("POST", "/x", Pod(metadata=ObjectMeta(name="a", creationTimestamp=NOON)))
    assert json.loads(request.body) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "creationTimestamp": "2026-01-01T12:00:00Z"},
    }
    assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize(("micros", "text"), [(0, "12:00:00.000000Z"), (5, "12:00:00.000005Z")])
def test_encode_writes_micro_times_with_six_digits(micros, text):
    lease = Lease(
        spec=LeaseSpec(renewTime=NOON.replace(microsecond=micros)), metadata=ObjectMeta(creationTimestamp=NOON)
    )
    sent = json.loads(requests.encode(lease))
    assert sent["spec"]["renewTime"] == f"2026-01-01T{text}"
    assert sent["metadata"]["creationTimestamp"] == "2026-01-01T12:00:00Z"


def test_accept_header_requests_partial_object_metadata():
    assert (
        requests.accept_header("PartialObjectMetadata")
        == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    )
    assert requests.accept_header("") == "application/json"
