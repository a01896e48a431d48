"""Validation of Pod statuses."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts, pod

from steersman.apiserver.kinds.core.pod.status import validate_pod_status


def faults(status: dict, old: dict | None = None, **spec: object) -> list[str]:
    whole = pod(**spec)
    return error_texts(validate_pod_status({**whole, "status": status}, {**whole, "status": old or {}}))


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
def test_validate_pod_status_accepts_valid_statuses(status: dict):
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
def test_validate_pod_status_reports_single_error(status: dict, fault: str):
    assert faults(status) == [fault]


@pytest.mark.parametrize(
    ("status", "start"),
    [
        ({"conditions": [{"type": "a/b/c"}]}, 'status.conditions[0].Type: Invalid value: "a/b/c"'),
        ({"podIPs": [{"ip": "x"}]}, 'status.podIPs[0]: Invalid value: "x": must be a valid IP address'),
        ({"nominatedNodeName": "A_"}, 'status.nominatedNodeName: Invalid value: "A_"'),
    ],
)
def test_validate_pod_status_checks_names_and_addresses(status: dict, start: str):
    (fault,) = faults(status)
    assert fault.startswith(start)


def test_validate_pod_status_rejects_nomination_of_bound_pod():
    spec = {"nodeName": "n"}
    assert faults({"nominatedNodeName": "m"}, **spec) == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"
    ]
    assert faults({"nominatedNodeName": "m"}, {"nominatedNodeName": "m"}, **spec) == []
    assert faults({}, {"nominatedNodeName": "m"}, **spec) == []


def test_validate_pod_status_checks_names_of_resource_claims():
    (fault,) = faults(
        {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "A"}]}, resourceClaims=[{"name": "x"}]
    )
    assert fault.startswith('status.resourceClaimStatuses[0].resourceClaimName: Invalid value: "A": a lowercase')


def test_validate_pod_status_rejects_change_of_qos_class():
    assert faults({"qosClass": "Burstable"}, {"qosClass": "BestEffort"}) == [
        'status.qosClass: Invalid value: "Burstable": field is immutable'
    ]


# -- terminated containers -----------------------------------------------------------------------------------------


def terminated(code: int) -> dict:
    return {"name": "c", "state": {"terminated": {"exitCode": code}}}


RUNNING = {"name": "c", "state": {"running": {}}}
FINAL = "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"


@pytest.mark.parametrize(
    ("policy", "code", "count"),
    [("Always", 0, 0), ("Always", 1, 0), ("OnFailure", 1, 0), ("OnFailure", 0, 1), ("Never", 0, 1), ("Never", 1, 1)],
)
def test_validate_pod_status_rejects_restart_of_terminated_container(policy: str, code: int, count: int):
    old, new = {"containerStatuses": [terminated(code)]}, {"containerStatuses": [RUNNING]}
    assert faults(new, old, restartPolicy=policy) == [FINAL] * count


def test_validate_pod_status_accepts_restart_by_container_rule():
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}
    own = {"name": "c", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    new = {"containerStatuses": [RUNNING]}
    assert faults(new, {"containerStatuses": [terminated(42)]}, restartPolicy="Never", containers=[own]) == []
    assert faults(new, {"containerStatuses": [terminated(1)]}, restartPolicy="Never", containers=[own]) == [FINAL]


def test_validate_pod_status_prefers_restart_policy_of_container():
    own = {"name": "c", "image": "i", "restartPolicy": "Never"}
    new, old = {"containerStatuses": [RUNNING]}, {"containerStatuses": [terminated(1)]}
    assert faults(new, old, restartPolicy="Always", containers=[own]) == [FINAL]


def test_validate_pod_status_accepts_restart_when_a_rule_restarts_all_containers():
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    other = {"name": "d", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [rule]}
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}, other]}
    assert faults({"containerStatuses": [RUNNING]}, {"containerStatuses": [terminated(0)]}, **spec) == []
    new, old = {"ephemeralContainerStatuses": [RUNNING]}, {"ephemeralContainerStatuses": [terminated(0)]}
    assert len(faults(new, old, **spec)) == 1


def test_validate_pod_status_accepts_container_that_stays_terminated():
    status = {"containerStatuses": [terminated(0)]}
    assert faults(status, status, restartPolicy="Never") == []


# -- users ------------------------------------------------------------------------------------------------------------------


def test_validate_pod_status_accepts_users_of_linux_only():
    status = {"containerStatuses": [{"name": "c", "user": {"linux": {"uid": 1, "gid": -1, "supplementalGroups": [1]}}}]}
    assert faults(status) == [
        "status.containerStatuses[0].linux.gid: Invalid value: -1: must be between 0 and 2147483647, inclusive"
    ]
    assert faults(status, os={"name": "windows"}) == [
        "status.containerStatuses[0].linux: Forbidden: cannot be set for a windows pod"
    ]


# -- devices ----------------------------------------------------------------------------------------------------------


def devices(name: str, *resources: dict, kind: str = "containerStatuses") -> list[str]:
    requested = {"requests": {"example.com/x": "1"}, "claims": [{"name": "a"}, {"name": "b", "request": "r"}]}
    status = {"name": "c", "allocatedResourcesStatus": [{"name": name, "resources": list(resources)}]}
    return faults({kind: [status]}, containers=[{"name": "c", "image": "i", "resources": requested}])


@pytest.mark.parametrize("name", ["example.com/x", "claim:a", "claim:b/r"])
def test_validate_pod_status_accepts_requested_devices(name: str):
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
def test_validate_pod_status_rejects_devices_that_container_does_not_request(name: str, detail: str):
    path = "status.containerStatuses[0].allocatedResourcesStatus[0].name"
    assert devices(name) == [f'{path}: Invalid value: "{name}": {detail}']


def test_validate_pod_status_rejects_duplicate_devices_and_unknown_health():
    path = "status.containerStatuses[0].allocatedResourcesStatus[0].resources[1]"
    assert devices("claim:a", {"resourceID": "1", "health": "Healthy"}, {"resourceID": "1", "health": "Well"}) == [
        f'{path}.health: Unsupported value: "Well": supported values: "Healthy", "Unhealthy", "Unknown"',
        f'{path}.resourceID: Duplicate value: "1"',
    ]


def test_validate_pod_status_rejects_devices_of_ephemeral_containers():
    path = "status.ephemeralContainerStatuses[0].allocatedResourcesStatus"
    assert devices("x", kind="ephemeralContainerStatuses") == [
        f"{path}: Forbidden: must not be specified in container status"
    ]


# -- extended resources -----------------------------------------------------------------------------------------------

MAPPING = {"containerName": "c", "resourceName": "example.com/x", "requestName": "r"}
CLAIM = "status.extendedResourceClaimStatus"


def extended(*mappings: dict, claim: str = "claim") -> list[str]:
    status = {"extendedResourceClaimStatus": {"requestMappings": list(mappings), "resourceClaimName": claim}}
    requested = {"name": "c", "image": "i", "resources": {"requests": {"example.com/x": "1"}}}
    return faults(status, containers=[requested])


def test_validate_pod_status_accepts_mappings_of_requested_extended_resources():
    assert extended(MAPPING, {**MAPPING, "requestName": "s"}) == []


def test_validate_pod_status_requires_claim_name_and_mappings():
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
def test_validate_pod_status_rejects_mappings_of_unrequested_resources(change: dict, start: str):
    (fault,) = extended({**MAPPING, **change})
    assert fault.startswith(start)


def test_validate_pod_status_rejects_duplicate_mappings():
    assert extended(MAPPING, MAPPING) == [
        f'{CLAIM}.requestMappings[1].containerName: Duplicate value: "c"',
        f'{CLAIM}.requestMappings[1].resourceName: Duplicate value: "example.com/x"',
        f'{CLAIM}.requestMappings[1].requestName: Duplicate value: "r"',
    ]
