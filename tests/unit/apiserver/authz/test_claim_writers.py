"""Authorization of ResourceClaim statuses."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from steersman.apiserver.authz.claim_writers import ClaimWriters
from steersman.apiserver.authz.rbac import RBAC
from steersman.apiserver.authz.rbac_index import RBACIndex
from steersman.apiserver.request import RequestContext, UserInfo

from .rules import bind, role, rule, user

ALICE = UserInfo("alice")
DRIVER = UserInfo(
    "system:serviceaccount:kube-system:driver", extra={"authentication.kubernetes.io/node-name": ("worker",)}
)
FIELDS = [{"key": "metadata.name", "operator": "In", "values": ["worker"]}]
ALLOCATION = {"nodeSelector": {"nodeSelectorTerms": [{"matchFields": FIELDS}]}, "devices": {"results": []}}
ALLOCATED = {"allocation": ALLOCATION}
DEVICE = {"driver": "d.com", "pool": "p", "device": "dev-0"}
WITH_DEVICES = {**ALLOCATED, "devices": [DEVICE]}


@pytest.fixture
def index():
    return RBACIndex()


@pytest.fixture
def texts(index):
    writers = ClaimWriters(RBAC(index))

    def texts(status, before, *, caller=ALICE, verb="update"):
        ctx = RequestContext(caller, datetime(2026, 1, 1, tzinfo=UTC), namespace="ns", version="v1", verb=verb)
        return [str(fault) for fault in writers.check(ctx, status, before)]

    return texts


def grant(index, verb, resource, *, names="", user_name="alice", namespace=""):
    allowed = rule(verb, resource, groups="resource.k8s.io", names=names)
    role(index, "r", allowed, namespace=namespace)
    bind(index, "r", user(user_name), namespace=namespace)


def test_allocation_requires_binding_permission(texts, index):
    refused = (
        "status: Forbidden: changing status.allocation or status.reservedFor requires"
        ' resource="resourceclaims/binding", verb="update" permission: resourceclaims.resource.k8s.io is forbidden:'
        ' User "alice" cannot update resource "resourceclaims/binding" in API group "resource.k8s.io"'
        " at the cluster scope"
    )
    assert texts(ALLOCATED, {}) == [refused]
    grant(index, "update", "resourceclaims/binding")
    assert texts(ALLOCATED, {}) == texts({**ALLOCATED, "reservedFor": [{}]}, ALLOCATED) == texts({}, ALLOCATED) == []
    assert len(texts(ALLOCATED, {}, verb="patch")) == 1


def test_binding_permission_is_cluster_wide(texts, index):
    grant(index, "update", "resourceclaims/binding", namespace="ns")
    assert len(texts(ALLOCATED, {})) == 1


def test_unchanged_status_requires_no_permission(texts):
    assert texts(WITH_DEVICES, WITH_DEVICES) == texts({**WITH_DEVICES, "reservedFor": []}, WITH_DEVICES) == []


def test_device_status_requires_permission_of_driver(texts, index):
    refused = (
        'status.devices: Forbidden: changing status.devices requires resource="resourceclaims/driver",'
        ' verb="[arbitrary-node:update]" permission: resourceclaims.resource.k8s.io "d.com" is forbidden:'
        ' User "alice" cannot arbitrary-node:update resource "resourceclaims/driver" in API group "resource.k8s.io"'
        ' in the namespace "ns"'
    )
    grant(index, "arbitrary-node:update", "resourceclaims/driver", names="e.com", namespace="ns")
    assert texts(WITH_DEVICES, ALLOCATED) == texts(ALLOCATED, WITH_DEVICES) == [refused]
    more = {**WITH_DEVICES, "devices": [DEVICE, {**DEVICE, "driver": "e.com"}]}
    assert texts(more, WITH_DEVICES) == []


@pytest.mark.parametrize("mode", ["associated", "arbitrary"])
def test_driver_on_node_of_claim_needs_associated_or_arbitrary_node_permission(texts, index, mode):
    [fault] = texts(WITH_DEVICES, ALLOCATED, caller=DRIVER)
    assert 'verb="[associated-node:update arbitrary-node:update]" permission' in fault
    assert f'User "{DRIVER.name}" cannot associated-node:update' in fault
    grant(index, f"{mode}-node:update", "resourceclaims/driver", user_name=DRIVER.name)
    assert texts(WITH_DEVICES, ALLOCATED, caller=DRIVER) == []


@pytest.mark.parametrize(
    ("caller", "terms"),
    [
        (UserInfo("alice", extra=DRIVER.extra), [{"matchFields": FIELDS}]),
        (UserInfo(DRIVER.name), [{"matchFields": FIELDS}]),
        (DRIVER, [{"matchFields": [{**FIELDS[0], "values": ["other"]}]}]),
        (DRIVER, [{"matchFields": FIELDS, "matchExpressions": [{"key": "a", "operator": "Exists"}]}]),
        (DRIVER, [{"matchFields": FIELDS}, {"matchFields": FIELDS}]),
        (DRIVER, None),
    ],
)
def test_other_drivers_need_arbitrary_node_permission(texts, caller, terms):
    allocated = {"allocation": {"nodeSelector": {"nodeSelectorTerms": terms}}}
    [fault] = texts({**allocated, "devices": [DEVICE]}, allocated, caller=caller)
    assert 'verb="[arbitrary-node:update]" permission' in fault
