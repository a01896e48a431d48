from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import GONE, edited, named, texts

from steersman.apiserver.kinds.resource.resourceslice.validation import validate_slice

DEVICE = {
    "name": "dev-0",
    "attributes": {"numa": {"int": 1}, "d.com/model": {"string": "x"}, "driver": {"version": "1.2.3-rc.1"}},
    "capacity": {"memory": {"value": "80Gi"}},
}
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}
VALID = named(spec={"driver": "d.com", "pool": POOL, "nodeName": "n", "devices": [DEVICE]})
AT, PATH = "spec.devices.0", "spec.devices[0]"
WHERE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
SETS = [{"name": "s", "counters": {"c": {"value": "1"}}}]
DNS_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    "edits",
    [
        {},
        {"spec.nodeName": GONE, "spec.allNodes": True},
        {"spec.nodeName": GONE, "spec.perDeviceNodeSelection": True, f"{AT}.nodeName": "n"},
        {"spec.devices": GONE, "spec.sharedCounters": SETS},
    ],
)
def test_validate_slice_accepts_valid_slices(edits):
    assert texts(validate_slice(edited(VALID, edits))) == []


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.driver": ""}, "spec.driver: Required value"),
        ({"spec.pool.name": ""}, "spec.pool.name: Required value"),
        (
            {"spec.pool.resourceSliceCount": 0},
            "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
        ),
        (
            {"spec.pool.generation": -1},
            "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero",
        ),
        ({"spec.nodeName": GONE}, f"spec: Required value: {WHERE}"),
        (
            {"spec.allNodes": True},
            f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {WHERE}, but multiple fields are set',
        ),
        (
            {"spec.allNodes": False},
            "spec.allNodes: Invalid value: false: must be either unset or set to true",
        ),
        (
            {"spec.sharedCounters": SETS},
            'spec: Invalid value: "": only one of `sharedCounters` or `devices` is allowed',
        ),
        ({"spec.devices": [DEVICE, DEVICE]}, 'spec.devices[1]: Duplicate value: "dev-0"'),
        (
            {"spec.devices": [{"name": f"d-{n}"} for n in range(129)]},
            "spec.devices: Too many: 129: must have at most 128 items",
        ),
        (
            {"spec.devices": [{"name": f"d-{n}", "taints": [{"key": "a", "effect": "None"}]} for n in range(65)]},
            "spec.devices: Too many: 65: must have at most 64 items",
        ),
        (
            {f"{AT}.attributes": {f"a{n}": {"int": n} for n in range(32)}},
            f"{PATH}: Invalid value: 33: the total number of attributes and capacities must not exceed 32",
        ),
        (
            {f"{AT}.attributes": {"a": {"int": 1, "version": "1.2.3"}}},
            (
                f'{PATH}.attributes[a]: Invalid value: {{"IntValue":1,"BoolValue":null,"StringValue":null,'
                '"VersionValue":"1.2.3","IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}: '
                "exactly one value must be specified"
            ),
        ),
        (
            {f"{AT}.attributes": {"a": {}}},
            f'{PATH}.attributes[a]: Invalid value: "": exactly one value must be specified',
        ),
        (
            {f"{AT}.attributes": {"a": {"version": "1.2"}}},
            (
                f'{PATH}.attributes[a].version: Invalid value: "1.2": '
                "must be a string compatible with semver.org spec 2.0.0"
            ),
        ),
        (
            {f"{AT}.attributes": {"a": {"string": "x" * 65}}},
            f"{PATH}.attributes[a].string: Too long: may not be more than 64 bytes",
        ),
        (
            {f"{AT}.nodeName": "n"},
            (
                f"{PATH}: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if "
                "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
            ),
        ),
        (
            {"spec.nodeName": GONE, "spec.perDeviceNodeSelection": True},
            (
                f"{PATH}: Required value: exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
                "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
            ),
        ),
        (
            {f"{AT}.consumesCounters": [{"counterSet": "s", "counters": {}}]},
            f"{PATH}.consumesCounters[0].counters: Required value",
        ),
        (
            {"spec.devices": GONE, "spec.sharedCounters": [{"name": "s", "counters": {"A": {"value": "1"}}}]},
            f'spec.sharedCounters[0].counters: Invalid value: "A": {DNS_LABEL}',
        ),
        (
            {f"{AT}.attributes": {"d.com/": {"int": 1}}},
            f'{PATH}.attributes: Invalid value: "": the name must not be empty',
        ),
        ({f"{AT}.taints": [{"key": "a"}]}, f"{PATH}.taints[0].effect: Required value"),
    ],
)
def test_validate_slice_rejects_invalid_fields(edits, fault):
    assert texts(validate_slice(edited(VALID, edits))) == [fault]


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        ({"spec.driver": "e.com"}, 'spec.driver: Invalid value: "e.com": field is immutable'),
        ({"spec.nodeName": "m"}, 'spec.nodeName: Invalid value: "m": field is immutable'),
        ({"spec.pool.name": "q"}, 'spec.pool.name: Invalid value: "q": field is immutable'),
    ],
)
def test_validate_slice_update_rejects_change_of_node_driver_and_pool(edits, fault):
    assert texts(validate_slice(edited(VALID, edits), VALID)) == [fault]


def test_validate_slice_update_accepts_change_of_devices():
    assert texts(validate_slice(edited(VALID, {"spec.devices": [], "spec.pool.generation": 2}), VALID)) == []


def test_validate_slice_update_accepts_stored_taints():
    old = edited(VALID, {f"{AT}.taints": [{"key": "a"}]})
    assert texts(validate_slice(old, old)) == []


def test_validate_slice_reports_errors_of_strings_before_versions():
    attributes = {"a": {"string": "x" * 65, "version": "v" * 65}}
    faults = texts(validate_slice(edited(VALID, {f"{AT}.attributes": attributes})))
    at = f"{PATH}.attributes[a]"
    assert [fault.split(": ")[:2] for fault in faults] == [
        [f"{at}.string", "Too long"],
        [f"{at}.version", "Invalid value"],
        [f"{at}.version", "Too long"],
        [at, "Invalid value"],
    ]


def test_validate_slice_shows_node_selector_terms_in_go_form():
    term = {"matchExpressions": [{"key": "k", "operator": "Exists"}]}
    edits = {"spec.nodeName": GONE, "spec.nodeSelector": {"nodeSelectorTerms": [term, term]}}
    (fault,) = texts(validate_slice(edited(VALID, edits)))
    start = '[{"MatchExpressions":[{"Key":"k","Operator":"Exists","Values":null}],"MatchFields":null},'
    assert fault.startswith(f"spec.nodeSelector.nodeSelectorTerms: Invalid value: {start}")
