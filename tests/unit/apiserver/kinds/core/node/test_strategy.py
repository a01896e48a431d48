"""Strategy of Nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, error_texts, is_idempotent, tree

from steersman.apiserver.kinds.core.node.strategy import NodeStrategy, sync_first

KIND = NodeStrategy()
cidrs = st.sampled_from([None, "10.0.0.0/24", "10.0.1.0/24"])


def node(metadata: dict | None = None, **parts: object) -> dict:
    return tree(metadata, spec={}, **parts)


@pytest.mark.parametrize(
    ("fields", "both"),
    [
        ({"podCIDR": "a"}, ("a", ["a"])),
        ({"podCIDRs": ["a", "b"]}, ("a", ["a", "b"])),
        ({"podCIDR": "a", "podCIDRs": ["a", "b"]}, ("a", ["a", "b"])),
        ({"podCIDR": "c", "podCIDRs": ["a", "b"]}, ("c", ["c"])),
    ],
)
def test_sync_first_prefers_deprecated_field(fields: dict, both: tuple):
    sync_first(fields, one="podCIDR", many="podCIDRs")
    assert (fields["podCIDR"], fields["podCIDRs"]) == both


def test_default_sets_allocatable_from_capacity():
    obj = defaulted(KIND, node(status={"capacity": {"cpu": "1.5"}}))
    assert obj["status"]["allocatable"] == {"cpu": "1500m"}
    obj = defaulted(KIND, node(status={"capacity": {"cpu": "2"}, "allocatable": {"cpu": "1"}}))
    assert obj["status"]["allocatable"] == {"cpu": "1"}


@given(cidrs, st.lists(cidrs.filter(bool), max_size=2), st.sampled_from(["1", "0.5", "1u"]))
def test_default_is_idempotent(one: str | None, many: list[str], cpu: str):
    spec = {"podCIDR": one, "podCIDRs": many}
    assert is_idempotent(KIND, tree(spec=spec, status={"capacity": {"cpu": cpu}}))


def test_prepare_for_create_keeps_status():
    obj = node(status={"capacity": {"cpu": "1"}, "config": {}})
    KIND.prepare_for_create(context(), obj)
    assert obj["status"] == {"capacity": {"cpu": "1"}}


def test_prepare_for_update_keeps_status():
    obj = node(status={"capacity": {"cpu": "2"}})
    KIND.prepare_for_update(context(), obj, node(status={"capacity": {"cpu": "1"}}))
    assert obj["status"] == {"capacity": {"cpu": "1"}}


def test_prepare_drops_config_source():
    obj = node(status={"config": {}})
    KIND.prepare_for_status_update(context(), obj, node(status={}))
    assert obj["status"] == {}
    obj = node(status={"config": {}})
    KIND.prepare_for_status_update(context(), obj, node(status={"config": {"error": "x"}}))
    assert obj["status"] == {"config": {}}


def test_warnings_about_ambiguous_pod_cidrs():
    (warning,) = KIND.warnings(context(), tree(spec={"podCIDRs": ["10.0.0.1/24"]}), None)
    assert warning.startswith('spec.podCIDRs[0]: CIDR value "10.0.0.1/24" is ambiguous')


def test_validate_update_repeats_errors_as_upstream():
    obj = node(status={"capacity": {"cpu": "-1"}})
    fault = 'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'
    assert error_texts(KIND.validate(context(), obj)) == [fault]
    assert error_texts(KIND.validate_update(context(), obj, obj)) == [fault] * 2
    assert error_texts(KIND.validate_status_update(context(), obj, obj)) == [fault]


@pytest.mark.parametrize(
    ("spec", "conditions", "text"),
    [
        ({}, [], "Unknown"),
        ({}, [{"type": "Ready", "status": "True"}], "Ready"),
        ({}, [{"type": "Ready", "status": "Unknown"}], "NotReady"),
        ({"unschedulable": True}, [{"type": "Ready", "status": "True"}], "Ready,SchedulingDisabled"),
    ],
)
def test_cells_show_status(spec: dict, conditions: list[dict], text: str):
    assert KIND.cells(tree(spec=spec, status={"conditions": conditions}), NOW)[1] == text


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        ({}, "<none>"),
        ({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}, "control-plane,worker"),
        ({"kubernetes.io/role": "old"}, "old"),
        ({"node-role.kubernetes.io/": ""}, "<none>"),
    ],
)
def test_cells_show_roles(labels: dict, text: str):
    assert KIND.cells(node({"labels": labels}), NOW)[2] == text


def test_cells_show_versions_and_addresses():
    info = {"kubeletVersion": "v1", "osImage": "os", "kernelVersion": "k", "containerRuntimeVersion": "c"}
    addresses = [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.1"}]
    obj = node(status={"nodeInfo": info, "addresses": addresses})
    assert [column.name for column in KIND.columns[:5]] == ["Name", "Status", "Roles", "Age", "Version"]
    assert KIND.cells(obj, NOW)[3:] == ["60s", "v1", "10.0.0.1", "<none>", "os", "k", "c"]
    assert KIND.cells(node(), NOW)[7:] == ["<unknown>"] * 3
    assert KIND.cells(node(status={"nodeInfo": {**info, "architecture": "arm64"}}), NOW)[8] == "k (arm64)"


def test_field_labels_select_by_unschedulable():
    label = KIND.field_labels["spec.unschedulable"]
    assert (label(tree(spec={"unschedulable": True})), label(node())) == ("true", "false")
