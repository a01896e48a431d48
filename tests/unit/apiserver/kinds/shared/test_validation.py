"""Rules that many kinds share."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import told

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.validation import (
    check_all,
    check_not_negative,
    check_supported,
    check_unchanged,
    validate_dns_label,
    validate_dns_subdomain,
    validate_label_selector,
    validate_port_number_or_name,
    validate_qualified_name,
)

P = Path("spec", "f")


def test_every_fault_is_an_error_of_its_own():
    assert told(check_all(P, 1, ["a", "b"])) == ["spec.f: Invalid value: 1: a", "spec.f: Invalid value: 1: b"]


@pytest.mark.parametrize("value", ["", None])
def test_a_choice_must_be_made(value: str | None):
    assert told(check_supported(value, ("A", "B"), P)) == ["spec.f: Required value"]


def test_a_choice_is_one_of_those_there_are():
    assert told(check_supported("C", ("A", "B"), P)) == ['spec.f: Unsupported value: "C": supported values: "A", "B"']
    assert told(check_supported("A", ("A", "B"), P)) == []


@pytest.mark.parametrize(("value", "count"), [(None, 0), (0, 0), (1, 0), (-1, 1)])
def test_a_number_is_not_negative(value: int | None, count: int):
    errors = told(check_not_negative(value, P))
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
def test_absent_and_empty_are_no_change(new, old):
    assert told(check_unchanged(new, old, P)) == []


@pytest.mark.parametrize(
    ("new", "old", "shown"), [("b", "a", '"b"'), (None, "a", "null"), (2, 1, "2"), (True, None, "true")]
)
def test_a_change_is_told_with_the_new_value(new, old, shown: str):
    assert told(check_unchanged(new, old, P)) == [f"spec.f: Invalid value: {shown}: field is immutable"]


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
def test_names_and_ports_have_their_forms(check, good, bad):
    assert told(check(good, P)) == []
    assert all(fault.startswith("spec.f: Invalid value: ") for fault in told(check(bad, P)))
    assert told(check(bad, P))


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
def test_requirements_fit_their_operator(requirement: dict, faults: list[str]):
    assert told(validate_label_selector({"matchExpressions": [requirement]}, P)) == faults


def test_labels_of_a_selector_are_labels():
    (fault,) = told(validate_label_selector({"matchLabels": {"a": "not a label"}}, P))
    assert fault.startswith('spec.f.matchLabels: Invalid value: "not a label": a valid label must be')


def test_values_no_label_can_have_stay_in_old_objects():
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["not a label"]}]}
    assert told(validate_label_selector(selector, P, allow_invalid_values=True)) == []
    (fault,) = told(validate_label_selector(selector, P))
    assert fault.startswith('spec.f.matchExpressions[0].values[0]: Invalid value: "not a label"')


def test_no_selector_is_no_fault():
    assert told(validate_label_selector(None, P)) == []
