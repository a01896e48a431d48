from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, edited, named, texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.resource.shared.claim_validation import (
    RequestNames,
    validate_claim_spec,
    validate_class,
    validate_template,
)

EXACT = {"deviceClassName": "gpus", "allocationMode": "ExactCount", "count": 1}
OPAQUE = {"driver": "d.com", "parameters": {"a": 1}}
VALID = {
    "devices": {
        "requests": [
            {"name": "gpu", "exactly": EXACT},
            {"name": "nic", "firstAvailable": [{**EXACT, "name": "fast"}, {**EXACT, "name": "slow"}]},
        ],
        "constraints": [{"requests": ["gpu", "nic/fast"], "matchAttribute": "d.com/numa"}],
        "config": [{"requests": ["nic"], "opaque": OPAQUE}],
    }
}
AT, PATH = "devices.requests.0", "spec.devices.requests[0]"
WAYS = "exactly one of `exactly` or `firstAvailable` is required"
NAMES = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


def test_validate_claim_spec_accepts_valid_specs():
    assert texts(validate_claim_spec(VALID)) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({f"{AT}.exactly": GONE}, f"{PATH}: Required value: {WAYS}"),
        (
            {f"{AT}.firstAvailable": [{**EXACT, "name": "a"}]},
            f"{PATH}: Invalid value: null: {WAYS}, but multiple fields are set",
        ),
        ({f"{AT}.exactly.deviceClassName": ""}, f"{PATH}.exactly.deviceClassName: Required value"),
        ({f"{AT}.exactly.count": 0}, f"{PATH}.exactly.count: Invalid value: 0: must be greater than zero"),
        (
            {f"{AT}.exactly.allocationMode": "All"},
            f"{PATH}.exactly.count: Invalid value: 1: must not be specified when allocationMode is 'All'",
        ),
        (
            {f"{AT}.exactly.allocationMode": "Some"},
            f'{PATH}.exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"',
        ),
        ({f"{AT}.exactly.selectors": [{}]}, f"{PATH}.exactly.selectors[0].cel: Required value"),
        (
            {f"{AT}.exactly.selectors": [{"cel": {"expression": "a" * 10241}}]},
            f"{PATH}.exactly.selectors[0].cel.expression: Too long: may not be more than 10240 bytes",
        ),
        (
            {f"{AT}.exactly.tolerations": [{"operator": "Exists", "value": "v"}]},
            f'{PATH}.exactly.tolerations[0].value: Invalid value: "v": must be empty for operator `Exists`',
        ),
        (
            {f"{AT}.exactly.tolerations": [{"operator": "Exists", "effect": "Never"}]},
            (
                f'{PATH}.exactly.tolerations[0].effect: Unsupported value: "Never": '
                'supported values: "NoExecute", "NoSchedule", "None"'
            ),
        ),
        ({"devices.requests.1.name": "gpu"}, 'spec.devices.requests[1]: Duplicate value: "gpu"'),
        (
            {"devices.requests.1.firstAvailable.1.name": "fast"},
            'spec.devices.requests[1].firstAvailable[1]: Duplicate value: "fast"',
        ),
        (
            {"devices.constraints.0.requests": ["tpu"]},
            f'spec.devices.constraints[0].requests[0]: Invalid value: "tpu": {NAMES}',
        ),
        (
            {"devices.constraints.0.requests": ["gpu", "gpu"]},
            'spec.devices.constraints[0].requests[1]: Duplicate value: "gpu"',
        ),
        (
            {"devices.constraints.0.matchAttribute": "numa"},
            (
                'spec.devices.constraints[0].matchAttribute: Invalid value: "numa": '
                "a fully qualified name must be a domain and a name separated by a slash"
            ),
        ),
        ({"devices.config.0.opaque": GONE}, "spec.devices.config[0].opaque: Required value"),
        (
            {"devices.config": [VALID["devices"]["config"][0]] * 33},
            "spec.devices.config: Too many: 33: must have at most 32 items",
        ),
    ],
)
def test_validate_claim_spec_rejects_invalid_fields(edits, fault):
    assert fault in texts(validate_claim_spec(edited(VALID, edits)))


@pytest.mark.parametrize(
    ("name", "count"), [("gpu", 0), ("nic", 0), ("nic/slow", 0), ("slow", 1), ("gpu/slow", 1), ("nic/slow/x", 1)]
)
def test_request_names_include_alternatives(name, count):
    assert len(list(RequestNames(VALID).check(name, Path("p")))) == count


def test_validate_template_checks_labels():
    [fault] = texts(validate_template(named(spec={"metadata": {"labels": {"a": "not valid"}}, "spec": VALID})))
    assert fault.startswith('spec.metadata.labels: Invalid value: "not valid": ')


def test_validate_template_rejects_metadata_but_labels_and_annotations():
    metadata = {"annotations": {"a": "b"}, "finalizers": ["a/b"], "uid": "u", "name": "x", "creationTimestamp": None}
    assert texts(validate_template(named(spec={"metadata": metadata, "spec": VALID}))) == [
        "spec.metadata.name: Forbidden: cannot be set",
        "spec.metadata.uID: Forbidden: cannot be set",
        "spec.metadata.finalizers: Forbidden: cannot be set",
    ]


@pytest.mark.parametrize(("name", "count"), [("example.com/gpu", 0), ("cpu", 1), ("kubernetes.io/gpu", 1)])
def test_validate_class_accepts_extended_resource_name(name, count):
    assert len(texts(validate_class(named(spec={"extendedResourceName": name})))) == count
