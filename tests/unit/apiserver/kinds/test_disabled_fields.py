"""Fields of feature gates that are off."""

from __future__ import annotations

import copy

import pytest

from steersman.apimachinery.typemodel import ListOf, MapOf, Struct
from steersman.apiserver.kinds.disabled_fields import GATES, disabled_fields
from steersman.controlplane.known_feature_gates import KNOWN_FEATURE_GATES
from steersman.schema.loader import struct
from steersman.schema.resources import table

STORED = {r.group_resource: r for r in table().resources if r.key_prefix and r.api_version == r.storage_api_version}
PATHS = [
    (gate, kind, field.path)
    for gate, gated in GATES.items()
    for kind, fields in gated.fields.items()
    for field in fields
]


def dropped(kind, obj, old=None, **gates):
    """Return a copy of the object without the fields that gates disable."""
    disabled = disabled_fields(kind, gates)
    result = copy.deepcopy(obj)
    if disabled is not None:
        disabled.drop(result, old)
    return result


def container(**fields):
    return {"spec": {"containers": [{"name": "c", **fields}]}}


@pytest.mark.parametrize(("gate", "kind", "path"), PATHS)
def test_paths_are_fields_of_the_storage_version(gate, kind, path):
    node = struct(STORED[kind].definition)
    for part in path.split("."):
        name = part.rstrip("[]{}")
        assert isinstance(node, Struct), part
        node = node.fields[name].type
        expected = {"[]": ListOf, "{}": MapOf}.get(part[len(name) :])
        if expected is not None:
            assert isinstance(node, expected), part
            node = node.item if isinstance(node, ListOf) else node.value


@pytest.mark.parametrize("gate", GATES)
def test_gates_are_known_and_on_by_default(gate):
    listed = KNOWN_FEATURE_GATES[gate]
    assert (listed.default, listed.locked) == (True, False)


def test_kinds_have_no_disabled_fields_by_default():
    for kind in STORED:
        assert disabled_fields(kind, {}) is None
        assert disabled_fields(kind, dict.fromkeys(GATES, True)) is None


def test_disabled_field_is_dropped_from_new_objects():
    obj = {"spec": {"hostnameOverride": "h", "hostname": "x"}}
    assert dropped("pods", obj, HostnameOverride=False) == {"spec": {"hostname": "x"}}
    assert dropped("pods", obj, EnvFiles=False) == obj
    assert dropped("configmaps", obj, HostnameOverride=False) == obj


def test_disabled_field_is_dropped_from_templates():
    obj = {"spec": {"jobTemplate": {"spec": {"template": {"spec": {"hostnameOverride": "h"}}}}}}
    assert dropped("cronjobs.batch", obj, HostnameOverride=False) == {
        "spec": {"jobTemplate": {"spec": {"template": {"spec": {}}}}}
    }


def test_disabled_field_is_dropped_from_lists_and_maps():
    key = {"key": "K", "path": "p", "volumeName": "v"}
    obj = container(env=[{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fileKeyRef": key}}])
    env = dropped("pods", obj, EnvFiles=False)["spec"]["containers"][0]["env"]
    assert env == [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {}}]
    capacity = {"memory": {"value": "1Gi", "requestPolicy": {"default": "1Gi"}}}
    obj = {"spec": {"devices": [{"name": "d", "capacity": capacity, "allowMultipleAllocations": True}]}}
    assert dropped("resourceslices.resource.k8s.io", obj, DRAConsumableCapacity=False) == {
        "spec": {"devices": [{"name": "d", "capacity": {"memory": {"value": "1Gi"}}}]}
    }


def test_objects_that_use_a_feature_keep_using_it():
    old = {"spec": {"behavior": {"scaleUp": {"tolerance": "0.1"}}}}
    new = {"spec": {"behavior": {"scaleUp": {"tolerance": "0.2"}, "scaleDown": {"tolerance": "0.3"}}}}
    kind = "horizontalpodautoscalers.autoscaling"
    assert dropped(kind, new, old, HPAConfigurableTolerance=False) == new
    unused = {"spec": {"behavior": {"scaleUp": {}}}}
    assert dropped(kind, new, unused, HPAConfigurableTolerance=False) == {
        "spec": {"behavior": {"scaleUp": {}, "scaleDown": {}}}
    }


def test_empty_values_are_no_use():
    old = {"spec": {"resources": {}, "topologySpreadConstraints": [{"matchLabelKeys": []}]}}
    new = {"spec": {"resources": {"limits": {"cpu": "1"}}, "topologySpreadConstraints": [{"matchLabelKeys": ["a"]}]}}
    gates = {"PodLevelResources": False, "MatchLabelKeysInPodTopologySpread": False}
    assert dropped("pods", new, old, **gates) == {"spec": {"topologySpreadConstraints": [{}]}}


def test_false_is_a_use():
    old = {"spec": {"devices": [{"name": "d", "allNodes": False}]}}
    new = {"spec": {"devices": [{"name": "d", "allNodes": True}]}}
    assert dropped("resourceslices.resource.k8s.io", new, old, DRAPartitionableDevices=False) == new


def test_restart_policy_of_sidecars_is_of_another_feature():
    obj = {
        "spec": {
            "initContainers": [{"restartPolicy": "Always"}, {"restartPolicy": "Never"}],
            "containers": [{"restartPolicy": "Always", "restartPolicyRules": [{"action": "Restart"}]}],
        }
    }
    assert dropped("pods", obj, ContainerRestartRules=False) == {
        "spec": {"initContainers": [{"restartPolicy": "Always"}, {}], "containers": [{}]}
    }
    sidecar = {"spec": {"initContainers": [{"restartPolicy": "Always"}], "containers": [{}]}}
    assert dropped("pods", obj, sidecar, ContainerRestartRules=False)["spec"]["containers"] == [{}]


def test_health_of_resources_is_dropped_even_if_it_was_stored():
    obj = {"status": {"containerStatuses": [{"name": "c", "allocatedResourcesStatus": [{"name": "r"}]}]}}
    assert dropped("pods", obj, obj, ResourceHealthStatus=False) == {"status": {"containerStatuses": [{"name": "c"}]}}
