"""Validation functions shared by many kinds."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.validation import (
    check_all,
    check_not_negative,
    check_one_of,
    check_supported,
    check_unchanged,
    validate_dns_label,
    validate_dns_subdomain,
    validate_label_selector,
    validate_port_number_or_name,
    validate_qualified_name,
)

P = Path("spec", "f")


def test_check_all_yields_one_error_per_fault():
    assert error_texts(check_all(P, 1, ["a", "b"])) == ["spec.f: Invalid value: 1: a", "spec.f: Invalid value: 1: b"]


@pytest.mark.parametrize("value", ["", None])
def test_check_supported_requires_value(value: str | None):
    assert error_texts(check_supported(value, ("A", "B"), P)) == ["spec.f: Required value"]


def test_check_supported_lists_supported_values():
    assert error_texts(check_supported("C", ("A", "B"), P)) == [
        'spec.f: Unsupported value: "C": supported values: "A", "B"'
    ]
    assert error_texts(check_supported("A", ("A", "B"), P)) == []


@pytest.mark.parametrize(("value", "shown"), [("C", "C"), ("", ""), (None, "")])
def test_check_one_of_rejects_other_and_empty_values(value: str | None, shown: str):
    assert error_texts(check_one_of(value, ("A", "B"), P)) == [
        f'spec.f: Unsupported value: "{shown}": supported values: "A", "B"'
    ]
    assert error_texts(check_one_of("A", ("A", "B"), P)) == []


@pytest.mark.parametrize(("value", "count"), [(None, 0), (0, 0), (1, 0), (-1, 1)])
def test_check_not_negative_rejects_negative_numbers(value: int | None, count: int):
    errors = error_texts(check_not_negative(value, P))
    assert errors == [f"spec.f: Invalid value: {value}: must be greater than or equal to 0"] * count


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (None, None),
        (None, ""),
        ([], None),
        ({}, None),
        ("a", "a"),
        (0, None),
        (False, None),
        (0, 0),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_check_unchanged_treats_absent_and_empty_alike(new, old):
    assert error_texts(check_unchanged(new, old, P)) == []


@pytest.mark.parametrize(
    ("new", "old", "shown"), [("b", "a", '"b"'), (None, "a", "null"), (2, 1, "2"), (True, None, "true")]
)
def test_check_unchanged_reports_new_value(new, old, shown: str):
    assert error_texts(check_unchanged(new, old, P)) == [f"spec.f: Invalid value: {shown}: field is immutable"]


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (validate_dns_label, "a-b", "a.b"),
        (validate_dns_subdomain, "a.b", "a_b"),
        (validate_qualified_name, "example.com/a_B.c", "a/b/c"),
        (validate_port_number_or_name, "http", "no-letters-but-far-too-long"),
        (validate_port_number_or_name, 80, 0),
        (validate_port_number_or_name, 65535, 65536),
    ],
)
def test_validate_names_and_ports(check, good, bad):
    assert error_texts(check(good, P)) == []
    assert all(fault.startswith("spec.f: Invalid value: ") for fault in error_texts(check(bad, P)))
    assert error_texts(check(bad, P))


@pytest.mark.parametrize(
    ("requirement", "faults"),
    [
        ({"key": "a", "operator": "In", "values": ["x"]}, []),
        ({"key": "a", "operator": "DoesNotExist"}, []),
        (
            {"key": "a", "operator": "In"},
            ["spec.f.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"],
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["x"]},
            [
                (
                    "spec.f.matchExpressions[0].values: Forbidden: "
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                )
            ],
        ),
        (
            {"key": "a", "operator": "Gt", "values": ["1"]},
            ['spec.f.matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator'],
        ),
    ],
)
def test_validate_label_requirement_checks_values_of_operator(requirement: dict, faults: list[str]):
    assert error_texts(validate_label_selector({"matchExpressions": [requirement]}, P)) == faults


def test_validate_label_selector_checks_labels():
    (fault,) = error_texts(validate_label_selector({"matchLabels": {"a": "not a label"}}, P))
    assert fault.startswith('spec.f.matchLabels: Invalid value: "not a label": a valid label must be')


def test_validate_label_selector_accepts_invalid_values_of_old_objects():
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not a label"]}]}
    assert error_texts(validate_label_selector(selector, P, allow_invalid_values=True)) == []
    (fault,) = error_texts(validate_label_selector(selector, P))
    assert fault.startswith('spec.f.matchExpressions[0].values[0]: Invalid value: "not a label"')


def test_validate_label_selector_accepts_absent_selector():
    assert error_texts(validate_label_selector(None, P)) == []
