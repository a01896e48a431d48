from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apiserver.kinds.resource.shared.admin_access import (
    LABEL,
    check_allocation,
    check_requests,
    no_namespaces,
)

WHERE = "spec.devices.requests[1].adminAccess"
NEEDS_LABEL = (
    "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label"
    " on the containing namespace"
)
NO_NAMESPACE = 'Internal error: could not retrieve namespace to verify admin access: namespaces "n" not found'


def request_with_admin(*, admin):
    requests = [{"name": "q"}, {"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": admin}}]
    return {"devices": {"requests": requests}}


def claim(*, admin):
    results = [{"driver": "d", "adminAccess": admin}]
    return {"metadata": {"namespace": "n"}, "status": {"allocation": {"devices": {"results": results}}}}


@pytest.mark.parametrize(
    ("admin", "labels", "faults"),
    [
        (True, {LABEL: "true"}, []),
        (True, {LABEL: "True"}, [f"{WHERE}: {NEEDS_LABEL}"]),
        (True, {}, [f"{WHERE}: {NEEDS_LABEL}"]),
        (True, None, [f"{WHERE}: {NO_NAMESPACE}"]),
        (False, {}, []),
        (None, {}, []),
    ],
)
def test_check_requests_requires_namespace_label(admin, labels, faults):
    assert texts(check_requests(request_with_admin(admin=admin), "n", lambda _: labels)) == faults


@pytest.mark.parametrize(("before", "after", "faults"), [(False, True, 1), (True, True, 0), (False, False, 0)])
def test_check_allocation_accepts_unchanged_admin_access(before, after, faults):
    errors = check_allocation(claim(admin=after), claim(admin=before), lambda _: {})
    assert texts(errors) == [f"status.allocation.devices.results[0].adminAccess: {NEEDS_LABEL}"] * faults


def test_check_requests_rejects_admin_access_without_namespaces():
    assert len(list(check_requests(request_with_admin(admin=True), "n", no_namespaces))) == 1
