from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import NOW

from steersman.apiserver.kinds.core.persistentvolumeclaim.quota import DeviceClaimEvaluator, VolumeClaimEvaluator
from steersman.apiserver.kinds.shared.quota.amounts import texts

VOLUMES, DEVICES = VolumeClaimEvaluator(), DeviceClaimEvaluator()
GOLD = "gold.storageclass.storage.k8s.io"


def claim(size="1Gi", status=None, annotations=None, **spec):
    resources = {"requests": {"storage": size}} if size else {}
    return {"metadata": {"annotations": annotations}, "spec": {"resources": resources, **spec}, "status": status or {}}


def devices(*requests):
    return {"spec": {"devices": {"requests": list(requests)}}}


def test_usage_counts_size_in_total_and_by_class():
    plain = {"count/persistentvolumeclaims": "1", "persistentvolumeclaims": "1", "requests.storage": "1Gi"}
    assert texts(VOLUMES.usage(claim(), NOW)) == plain
    assert texts(VOLUMES.usage(claim(storageClassName="gold"), NOW)) == {
        **plain,
        f"{GOLD}/persistentvolumeclaims": "1",
        f"{GOLD}/requests.storage": "1Gi",
    }


def test_usage_counts_claim_without_size():
    assert "requests.storage" not in VOLUMES.usage(claim(size=""), NOW)


def test_usage_counts_capacity_above_request():
    usage = VOLUMES.usage(claim(status={"allocatedResources": {"storage": "5Gi"}}), NOW)
    assert texts(usage)["requests.storage"] == "5Gi"
    usage = VOLUMES.usage(claim(status={"allocatedResources": {"storage": "1Mi"}}), NOW)
    assert texts(usage)["requests.storage"] == "1Gi"


def test_usage_rounds_size_up_to_bytes():
    assert texts(VOLUMES.usage(claim(size="1500m"), NOW))["requests.storage"] == "2"


def test_matching_resources_of_claims():
    names = [f"{GOLD}/requests.storage", "requests.storage", "persistentvolumeclaims"]
    assert VOLUMES.matching([*names, "pods"]) == sorted(names)


@pytest.mark.parametrize(
    ("obj", "selector", "inside"),
    [
        (claim(volumeAttributesClassName="a"), {"operator": "In", "values": ["a"]}, True),
        (claim(volumeAttributesClassName="b"), {"operator": "In", "values": ["a"]}, False),
        (claim(status={"currentVolumeAttributesClassName": "a"}), {"operator": "Exists"}, True),
        (claim(), {"operator": "Exists"}, False),
        (claim(), {"operator": "DoesNotExist"}, True),
    ],
)
def test_is_in_scope_matches_volume_attributes_class(obj, selector, inside):
    assert VOLUMES.is_in_scope({"scopeName": "VolumeAttributesClass", **selector}, obj) is inside
    assert not VOLUMES.is_in_scope({"scopeName": "BestEffort", **selector}, obj)


def test_usage_counts_devices_by_class():
    one = {"exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2}}
    everything = {"exactly": {"deviceClassName": "nic", "allocationMode": "All"}}
    assert texts(DEVICES.usage(devices(one, one, everything), NOW)) == {
        "count/resourceclaims.resource.k8s.io": "1",
        "gpu.deviceclass.resource.k8s.io/devices": "4",
        "nic.deviceclass.resource.k8s.io/devices": "32",
    }


def test_usage_counts_highest_alternative_of_each_class():
    choices = [
        {"deviceClassName": "gpu", "count": 1},
        {"deviceClassName": "gpu", "count": 3},
        {"deviceClassName": "nic"},
    ]
    usage = texts(DEVICES.usage(devices({"firstAvailable": choices}), NOW))
    assert usage["gpu.deviceclass.resource.k8s.io/devices"] == "3"
    assert usage["nic.deviceclass.resource.k8s.io/devices"] == "1"


def test_matching_resources_of_device_claims():
    names = ["count/resourceclaims.resource.k8s.io", "gpu.deviceclass.resource.k8s.io/devices"]
    assert DEVICES.matching([*names, "pods"]) == sorted(names)
