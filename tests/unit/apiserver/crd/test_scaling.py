"""Numbers of a Scale in custom objects."""

import pytest

from steersman.apiserver.crd.scaling import validate_scale_spec, validate_scale_status

SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, []),
        ({"replicas": 3}, []),
        ({"replicas": -1}, [".spec.replicas: Invalid value: -1: should be a non-negative integer"]),
        (
            {"replicas": 2**31},
            [".spec.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647"],
        ),
        (
            {"replicas": "x"},
            [
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64"
            ],
        ),
        (
            5,
            [
                ".spec.replicas: Invalid value: 0: .spec accessor error: 5 is of the type int64, expected map[string]interface{}"
            ],
        ),
    ],
)
def test_replicas_must_be_a_non_negative_number(spec, errors):
    assert [str(error) for error in validate_scale_spec(SCALE, {"spec": spec})] == errors


def test_selector_must_be_a_string():
    errors = validate_scale_status(SCALE, {"status": {"replicas": True, "selector": 1}})
    assert [str(error) for error in errors] == [
        ".status.replicas: Invalid value: 0: .status.replicas accessor error: true is of the type bool, expected int64",
        '.status.selector: Invalid value: "": .status.selector accessor error: 1 is of the type int64, expected string',
    ]
    assert list(validate_scale_status(SCALE, {"status": {"replicas": 1, "selector": "a=b"}})) == []


def test_definition_without_scale_is_not_validated():
    assert [*validate_scale_spec(None, {"spec": 5}), *validate_scale_status(None, {"status": 5})] == []
