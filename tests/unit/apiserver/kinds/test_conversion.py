from __future__ import annotations

from typing import Any

import pytest

from steersman.apimachinery.codec import DecodeError
from steersman.apiserver.kinds.conversion import conversions_for, decoders_for
from steersman.schema.resources import Resource, table


def _resource(group: str, version: str, name: str) -> Resource:
    [result] = [r for r in table().resources if (r.group, r.version, r.name) == (group, version, name)]
    return result


def test_conversions_for_storage_version_are_none():
    assert conversions_for(_resource("", "v1", "configmaps")) == (None, None)
    assert conversions_for(_resource("autoscaling", "v2", "horizontalpodautoscalers")) == (None, None)


def test_conversions_exist_for_every_listed_kind():
    for resource in table().resources:
        if resource.key_prefix:
            to_storage, from_storage = conversions_for(resource)
            assert (
                (to_storage is None) == (from_storage is None) == (resource.api_version == resource.storage_api_version)
            )


def test_conversions_for_raises_without_conversion():
    resource = Resource(
        "example.com", "v2", "widgets", "Widget", "widget", True, (), storage_api_version="example.com/v1"
    )
    with pytest.raises(KeyError, match="Widget"):
        conversions_for(resource)


CORE_EVENT: dict[str, Any] = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": {"name": "e", "namespace": "n", "creationTimestamp": None},
    "involvedObject": {"kind": "Pod", "name": "p"},
    "reason": "Pulled",
    "message": "it is here",
    "source": {"component": "kubelet"},
    "firstTimestamp": "2026-01-01T00:00:00Z",
    "lastTimestamp": "2026-01-01T00:00:00Z",
    "count": 3,
    "type": "Normal",
    "eventTime": None,
    "reportingComponent": "kubelet",
    "reportingInstance": "k1",
}


def test_events_convert_field_names_between_groups():
    to_storage, from_storage = conversions_for(_resource("events.k8s.io", "v1", "events"))
    own = from_storage({**CORE_EVENT})
    assert (own["kind"], own["apiVersion"]) == ("Event", "events.k8s.io/v1")
    assert own["note"] == "it is here"
    assert own["regarding"] == {"kind": "Pod", "name": "p"}
    assert (own["deprecatedCount"], own["deprecatedSource"]) == (3, {"component": "kubelet"})
    assert (own["reportingController"], own["reportingInstance"]) == ("kubelet", "k1")
    assert {"message", "involvedObject", "count", "source", "reportingComponent"}.isdisjoint(own)
    assert to_storage({**own}) == CORE_EVENT


def test_conversion_keeps_metadata():
    _, from_storage = conversions_for(_resource("events.k8s.io", "v1", "events"))
    assert from_storage({**CORE_EVENT})["metadata"] is CORE_EVENT["metadata"]


def test_lease_candidates_convert_without_change():
    to_storage, from_storage = conversions_for(_resource("coordination.k8s.io", "v1alpha2", "leasecandidates"))
    stored = to_storage(
        {
            "kind": "LeaseCandidate",
            "apiVersion": "coordination.k8s.io/v1alpha2",
            "metadata": {"name": "c"},
            "spec": {"leaseName": "l", "binaryVersion": "1.36.0", "strategy": "OldestEmulationVersion"},
        }
    )
    assert stored["apiVersion"] == "coordination.k8s.io/v1beta1"
    assert from_storage(stored)["spec"]["leaseName"] == "l"


def test_conversion_raises_for_unconvertible_values():
    to_storage, _ = conversions_for(_resource("events.k8s.io", "v1", "events"))
    with pytest.raises(DecodeError):
        to_storage({"metadata": {}, "regarding": "text"})


def test_decoders_for_convert_other_versions_in_both_directions():
    own = decoders_for(_resource("events.k8s.io", "v1", "events"))
    event, unknown = own["v1"]({**CORE_EVENT, "surplus": 1})
    assert (event["apiVersion"], event["note"], unknown) == ("events.k8s.io/v1", "it is here", ["surplus"])
    core = decoders_for(_resource("", "v1", "events"))
    assert core["events.k8s.io/v1"](event)[0] == {**CORE_EVENT, "metadata": {"name": "e", "namespace": "n"}}


def test_decoders_for_accept_objects_without_metadata():
    decoders = decoders_for(_resource("autoscaling", "v2", "horizontalpodautoscalers"))
    tree = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "spec": {"maxReplicas": 3}}
    decoded, _ = decoders["autoscaling/v1"](tree)
    assert (decoded["apiVersion"], decoded["spec"]["maxReplicas"]) == ("autoscaling/v2", 3)


def test_decoders_for_are_empty_for_kinds_of_one_version():
    assert decoders_for(_resource("", "v1", "configmaps")) == {}
