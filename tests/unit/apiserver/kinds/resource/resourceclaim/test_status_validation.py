from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, edited, named, texts

from steersman.apiserver.kinds.resource.resourceclaim.status_validation import validate_claim_status

EXACT = {"deviceClassName": "gpus", "allocationMode": "ExactCount", "count": 1}
RESULT = {"request": "gpu", "driver": "d.com", "pool": "p/a", "device": "dev-0"}
POD = {"resource": "pods", "name": "a", "uid": "1"}
CLAIM = named(spec={"devices": {"requests": [{"name": "gpu", "exactly": EXACT}]}})
ALLOCATED = edited(CLAIM, {"status.allocation": {"devices": {"results": [RESULT]}}})
RESERVED = edited(ALLOCATED, {"status.reservedFor": [POD]})
DEVICE = {"driver": "d.com", "pool": "p/a", "device": "dev-0"}
RESULTS, AT = "status.allocation.devices.results[0]", "status.allocation.devices.results.0"


@pytest.mark.parametrize(
    ("new", "old"), [(ALLOCATED, CLAIM), (RESERVED, CLAIM), (CLAIM, RESERVED), (RESERVED, ALLOCATED)]
)
def test_validate_claim_status_accepts_allocation_reservation_and_release(new, old):
    assert texts(validate_claim_status(new, old)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {f"{AT}.request": "tpu"},
            (
                f'{RESULTS}.request: Invalid value: "tpu": '
                "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
            ),
        ),
        ({f"{AT}.driver": ""}, f"{RESULTS}.driver: Required value"),
        ({f"{AT}.pool": ""}, f"{RESULTS}.pool: Required value"),
        (
            {f"{AT}.shareID": "123E4567-e89b-12d3-a456-426614174000"},
            (
                f'{RESULTS}.shareID: Invalid value: "123E4567-e89b-12d3-a456-426614174000": uid must be in RFC 4122 normalized form, '
                "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"
            ),
        ),
        (
            {
                "status.allocation.devices.config": [
                    {"source": "FromHeaven", "opaque": {"driver": "d.com", "parameters": {}}}
                ]
            },
            (
                'status.allocation.devices.config[0].source: Unsupported value: "FromHeaven": '
                'supported values: "FromClaim", "FromClass"'
            ),
        ),
        ({"status.reservedFor": [{}]}, "status.reservedFor[0].uid: Required value"),
        ({"status.reservedFor": [POD, POD]}, 'status.reservedFor[1]: Duplicate value: "1"'),
        (
            {"status.reservedFor": [POD], "status.allocation": GONE},
            "status.reservedFor: Forbidden: may not be specified when `allocated` is not set",
        ),
        (
            {"status.devices": [{**DEVICE, "device": "dev-1"}]},
            (
                'status.devices[0]: Invalid value: {"Driver":"d.com","Pool":"p/a","Device":"dev-1","ShareID":""}: '
                "must be an allocated device in the claim"
            ),
        ),
        (
            {"status.devices": [DEVICE, DEVICE]},
            'status.devices[1]: Duplicate value: {"Driver":"d.com","Pool":"p/a","Device":"dev-0","ShareID":""}',
        ),
        (
            {"status.devices": [{**DEVICE, "shareID": "x"}]},
            'status.devices[0].shareID: Invalid value: "x": error validating uid: invalid UUID length: 1',
        ),
        (
            {"status.devices": [{**DEVICE, "networkData": {"ips": ["10.0.0.1"]}}]},
            (
                'status.devices[0].networkData.ips[0]: Invalid value: "10.0.0.1": '
                "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
            ),
        ),
        (
            {"status.devices": [{**DEVICE, "networkData": {"ips": ["FD00::1/64"]}}]},
            'status.devices[0].networkData.ips[0]: Invalid value: "FD00::1/64": must be in canonical form ("fd00::1/64")',
        ),
        (
            {"status.devices": [{**DEVICE, "data": 1}]},
            'status.devices[0].data: Invalid value: "<value omitted>": must be a valid JSON object',
        ),
    ],
)
def test_validate_claim_status_rejects_invalid_fields(edits, fault):
    assert fault in texts(validate_claim_status(edited(ALLOCATED, edits), CLAIM))


def test_validate_claim_status_rejects_change_of_allocation():
    [fault] = texts(validate_claim_status(edited(ALLOCATED, {f"{AT}.device": "dev-1"}), ALLOCATED))
    assert fault == (
        'status.allocation: Invalid value: {"Devices":{"Results":[{"Request":"gpu","Driver":"d.com","Pool":"p/a",'
        '"Device":"dev-1","AdminAccess":null,"Tolerations":null,"BindingConditions":null,'
        '"BindingFailureConditions":null,"ShareID":null,"ConsumedCapacity":null}],"Config":null},'
        '"NodeSelector":null,"AllocationTimestamp":null}: field is immutable'
    )


def test_validate_claim_status_reports_share_after_binding_conditions():
    result = ALLOCATED["status"]["allocation"]["devices"]["results"][0]
    claim = edited(
        CLAIM,
        {
            "status": {
                "allocation": {"devices": {"results": [{**result, "shareID": "x", "bindingConditions": ["a b"]}]}}
            }
        },
    )
    places = [fault.partition(":")[0] for fault in texts(validate_claim_status(claim, CLAIM))]
    assert [place.rpartition(".")[2] for place in places] == [
        "bindingConditions[0]",
        "bindingFailureConditions",
        "shareID",
    ]


def test_validate_claim_status_rejects_reservation_of_deleted_claim():
    going = edited(ALLOCATED, {"metadata.deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert texts(validate_claim_status(edited(going, {"status.reservedFor": [POD]}), going)) == [
        (
            "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or "
            "`deletionTimestamp` are set"
        )
    ]
