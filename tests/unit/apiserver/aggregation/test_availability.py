"""Conditions of APIServices by their Service and EndpointSlices."""

import pytest

from steersman.apiserver.aggregation.availability import LOCAL, PASSED, check_service, is_available, plan_status

REFERENCE = {"namespace": "n", "name": "s", "port": 443}
SERVICE = {"spec": {"ports": [{"name": "api", "port": 443}]}}
PORTS = [{"name": "api", "port": 8443}]
NO_ADDRESSES = 'endpointslices for service/s in "n" have no addresses with port name "api"'


@pytest.mark.parametrize(
    ("service", "slices", "reason", "message"),
    [
        (None, [], "ServiceNotFound", 'service/s in "n" is not present'),
        ({"spec": {}}, [], "ServicePortError", 'service/s in "n" is not listening on port 443'),
        (SERVICE, [], "EndpointsNotFound", 'cannot find endpointslices for service/s in "n"'),
        (SERVICE, [{"ports": PORTS, "endpoints": []}], "MissingEndpoints", NO_ADDRESSES),
        (SERVICE, [{"ports": [], "endpoints": [{"addresses": ["10.1.0.1"]}]}], "MissingEndpoints", NO_ADDRESSES),
    ],
)
def test_check_service_reports_what_is_missing(service, slices, reason, message):
    outcome = check_service(REFERENCE, service, slices)
    assert (outcome.is_available, outcome.reason, outcome.message) == (False, reason, message)


def test_check_service_leaves_usable_services_to_the_probe():
    slices = [{"ports": PORTS, "endpoints": [{"addresses": ["10.1.0.1"], "conditions": {}}]}]
    assert check_service(REFERENCE, SERVICE, slices) is None
    assert check_service(REFERENCE, {"spec": {"type": "ExternalName"}}, []) is None


def test_plan_status_keeps_the_transition_time_while_the_status_is_the_same():
    first = plan_status({}, LOCAL, now="2026-01-01T00:00:00Z")
    assert first["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert plan_status({"status": first}, LOCAL, now="2026-01-02T00:00:00Z") is None
    second = plan_status({"status": first}, PASSED, now="2026-01-02T00:00:00Z")
    assert second["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert is_available({"status": second})
