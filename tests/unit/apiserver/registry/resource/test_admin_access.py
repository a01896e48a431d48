from __future__ import annotations

import pytest
from tests.unit.apiserver.registry.samples import texts

from steersman.apiserver.registry.resource.admin_access import LABEL, check_allocation, check_requests, no_namespaces

NEEDS_LABEL = (
    "[]: Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label"
    " on the containing namespace"
)


def wish(*, admin):
    return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": admin}}]}}


def claim(*, admin):
    results = [{"driver": "d", "adminAccess": admin}]
    return {"metadata": {"namespace": "n"}, "status": {"allocation": {"devices": {"results": results}}}}


@pytest.mark.parametrize(
    ("admin", "labels", "faults"),
    [
        (True, {LABEL: "true"}, []),
        (True, {LABEL: "True"}, [NEEDS_LABEL]),
        (True, {}, [NEEDS_LABEL]),
        (True, None, ['[]: Internal error: could not retrieve namespace: namespaces "n" not found']),
        (False, {}, []),
        (None, {}, []),
    ],
)
def test_admin_access_needs_a_label(admin, labels, faults):
    assert texts(check_requests(wish(admin=admin), "n", lambda _: labels)) == faults


@pytest.mark.parametrize(("before", "after", "faults"), [(False, True, 1), (True, True, 0), (False, False, 0)])
def test_what_was_granted_may_stay(before, after, faults):
    errors = check_allocation(claim(admin=after), claim(admin=before), lambda _: {})
    assert len(list(errors)) == faults


def test_without_namespaces_it_is_nowhere_allowed():
    assert len(list(check_requests(wish(admin=True), "n", no_namespaces))) == 1
