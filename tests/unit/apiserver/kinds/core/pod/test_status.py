"""What is refused of a pod's status."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import pod, told

from steersman.apiserver.kinds.core.pod.status import validate_pod_status


def faults(status: dict, old: dict | None = None, **spec: object) -> list[str]:
    whole = pod(**spec)
    return told(validate_pod_status({**whole, "status": status}, {**whole, "status": old or {}}))


@pytest.mark.parametrize(
    "status",
    [
        {},
        {"conditions": [{"type": "Ready"}, {"type": "example.com/mine", "observedGeneration": 1}]},
        {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
        {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}]},
        {"nominatedNodeName": "n"},
    ],
)
def test_usual_statuses_are_let_through(status: dict):
    assert faults(status) == []


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (
            {"conditions": [{"type": "Ready", "observedGeneration": -1}]},
            "status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer",
        ),
        ({"observedGeneration": -1}, "status.observedGeneration: Invalid value: -1: must be a non-negative integer"),
        (
            {"hostIP": "10.0.0.2", "hostIPs": [{"ip": "10.0.0.1"}]},
            'status.hostIPs[0].ip: Invalid value: "10.0.0.1": must be equal to `hostIP`',
        ),
        (
            {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
            (
                'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: '
                "may specify no more than one IP for each IP family"
            ),
        ),
        (
            {"resourceClaimStatuses": [{"name": "x"}]},
            (
                'status.resourceClaimStatuses[0].name: Invalid value: "x": '
                "must match the name of an entry in `spec.resourceClaims`"
            ),
        ),
    ],
)
def test_one_thing_wrong_is_told_once(status: dict, fault: str):
    assert faults(status) == [fault]


@pytest.mark.parametrize(
    ("status", "start"),
    [
        ({"conditions": [{"type": "a/b/c"}]}, 'status.conditions[0].Type: Invalid value: "a/b/c"'),
        ({"podIPs": [{"ip": "x"}]}, 'status.podIPs[0]: Invalid value: "x": must be a valid IP address'),
        ({"nominatedNodeName": "A_"}, 'status.nominatedNodeName: Invalid value: "A_"'),
    ],
)
def test_names_and_addresses_have_their_forms(status: dict, start: str):
    (fault,) = faults(status)
    assert fault.startswith(start)


def test_a_pod_on_a_node_waits_for_none():
    spec = {"nodeName": "n"}
    assert faults({"nominatedNodeName": "m"}, **spec) == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
    ]
    assert faults({"nominatedNodeName": "m"}, {"nominatedNodeName": "m"}, **spec) == []
    assert faults({}, {"nominatedNodeName": "m"}, **spec) == []


def test_claims_have_names_of_objects():
    (fault,) = faults(
        {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "A"}]}, resourceClaims=[{"name": "x"}]
    )
    assert fault.startswith('status.resourceClaimStatuses[0].resourceClaimName: Invalid value: "A": a lowercase')


def test_the_class_of_service_stays():
    assert faults({"qosClass": "Burstable"}, {"qosClass": "BestEffort"}) == [
        'status.qosClass: Invalid value: "Burstable": field is immutable'
    ]


# -- what has ended ---------------------------------------------------------------------------------------------------------


def ended(code: int) -> dict:
    return {"name": "c", "state": {"terminated": {"exitCode": code}}}


RUNNING = {"name": "c", "state": {"running": {}}}
FINAL = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"


@pytest.mark.parametrize(
    ("policy", "code", "count"),
    [("Always", 0, 0), ("Always", 1, 0), ("OnFailure", 1, 0), ("OnFailure", 0, 1), ("Never", 0, 1), ("Never", 1, 1)],
)
def test_what_is_not_started_again_has_ended_for_good(policy: str, code: int, count: int):
    old, new = {"containerStatuses": [ended(code)]}, {"containerStatuses": [RUNNING]}
    assert faults(new, old, restartPolicy=policy) == [FINAL] * count


def test_unless_a_rule_of_its_own_starts_it():
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    own = {"name": "c", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    new = {"containerStatuses": [RUNNING]}
    assert faults(new, {"containerStatuses": [ended(42)]}, restartPolicy="Never", containers=[own]) == []
    assert faults(new, {"containerStatuses": [ended(1)]}, restartPolicy="Never", containers=[own]) == [FINAL]


def test_its_own_policy_goes_before_that_of_the_pod():
    own = {"name": "c", "image": "i", "restartPolicy": "Never"}
    new, old = {"containerStatuses": [RUNNING]}, {"containerStatuses": [ended(1)]}
    assert faults(new, old, restartPolicy="Always", containers=[own]) == [FINAL]


def test_where_one_may_start_all_again_nothing_has_ended_for_good():
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    other = {"name": "d", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}, other]}
    assert faults({"containerStatuses": [RUNNING]}, {"containerStatuses": [ended(0)]}, **spec) == []
    new, old = {"ephemeralContainerStatuses": [RUNNING]}, {"ephemeralContainerStatuses": [ended(0)]}
    assert len(faults(new, old, **spec)) == 1


def test_it_may_stay_ended():
    status = {"containerStatuses": [ended(0)]}
    assert faults(status, status, restartPolicy="Never") == []


# -- users ------------------------------------------------------------------------------------------------------------------


def test_only_linux_tells_whom_containers_run_as():
    status = {"containerStatuses": [{"name": "c", "user": {"linux": {"uid": 1, "gid": -1, "supplementalGroups": [1]}}}]}
    assert faults(status) == [
        "status.containerStatuses[0].linux.gid: Invalid value: -1: must be between 0 and 2147483647, inclusive"
    ]
    assert faults(status, os={"name": "windows"}) == [
        "status.containerStatuses[0].linux: Forbidden: cannot be set for a windows pod"
    ]


# -- devices ----------------------------------------------------------------------------------------------------------


def devices(name: str, *resources: dict, kind: str = "containerStatuses") -> list[str]:
    asked = {"requests": {"example.com/x": "1"}, "claims": [{"name": "a"}, {"name": "b", "request": "r"}]}
    status = {"name": "c", "allocatedResourcesStatus": [{"name": name, "resources": list(resources)}]}
    return faults({kind: [status]}, containers=[{"name": "c", "image": "i", "resources": asked}])


@pytest.mark.parametrize("name", ["example.com/x", "claim:a", "claim:b/r"])
def test_devices_are_those_asked_for(name: str):
    assert devices(name, {"resourceID": "1", "health": "Healthy"}, {"resourceID": "2", "health": "Unknown"}) == []


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("cpu", "must match one of the container's resource requests"),
        (
            "claim:b",
            (
                "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or "
                "'claim:<claimName>' if request is empty"
            ),
        ),
    ],
)
def test_of_others_nothing_is_told(name: str, detail: str):
    where = "status.containerStatuses[0].allocatedResourcesStatus[0].name"
    assert devices(name) == [f'{where}: Invalid value: "{name}": {detail}']


def test_each_is_told_once_and_how_it_is():
    where = "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1]"
    assert devices("claim:a", {"resourceID": "1", "health": "Healthy"}, {"resourceID": "1", "health": "Well"}) == [
        f'{where}.health: Unsupported value: "Well": supported values: "Healthy", "Unhealthy", "Unknown"',
        f'{where}.resourceID: Duplicate value: "1"',
    ]


def test_ephemeral_containers_have_none():
    where = "status.ephemeralContainerStatuses[0].allocatedResourcesStatus"
    assert devices("x", kind="ephemeralContainerStatuses") == [
        f"{where}: Forbidden: must not be specified in container status"
    ]


# -- extended resources -----------------------------------------------------------------------------------------------

MAPPING = {"containerName": "c", "resourceName": "example.com/x", "requestName": "r"}
CLAIM = "status.extendedResourceClaimStatus"


def extended(*mappings: dict, claim: str = "claim") -> list[str]:
    status = {"extendedResourceClaimStatus": {"requestMappings": list(mappings), "resourceClaimName": claim}}
    asked = {"name": "c", "image": "i", "resources": {"requests": {"example.com/x": "1"}}}
    return faults(status, containers=[asked])


def test_requests_of_a_claim_are_for_what_containers_ask():
    assert extended(MAPPING, {**MAPPING, "requestName": "s"}) == []


def test_there_is_a_claim_and_something_in_it():
    assert extended(claim="") == [
        f"{CLAIM}.requestMappings: Required value: at least one request mapping is required",
        f"{CLAIM}.resourceClaimName: Required value",
    ]


@pytest.mark.parametrize(
    ("change", "start"),
    [
        (
            {"containerName": "x"},
            (
                f'{CLAIM}.requestMappings[0].containerName: Invalid value: "x": '
                "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            ),
        ),
        (
            {"resourceName": "cpu"},
            (
                f'{CLAIM}.requestMappings[0].resourceName: Invalid value: "cpu": must match the extended resource name of '
                "an entry in spec.initContainers.resources.requests or spec.containers.resources.requests"
            ),
        ),
        ({"requestName": "A"}, f'{CLAIM}.requestName: Invalid value: "A": a lowercase RFC 1123 label'),
    ],
)
def test_what_nothing_asks_for_is_told(change: dict, start: str):
    (fault,) = extended({**MAPPING, **change})
    assert fault.startswith(start)


def test_one_request_for_one_resource_is_told_once():
    assert extended(MAPPING, MAPPING) == [
        f'{CLAIM}.requestMappings[1].containerName: Duplicate value: "c"',
        f'{CLAIM}.requestMappings[1].resourceName: Duplicate value: "example.com/x"',
        f'{CLAIM}.requestMappings[1].requestName: Duplicate value: "r"',
    ]
