from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.samples import texts

from steersman.apimachinery.field import Path, required
from steersman.apiserver.kinds.resource.shared.device_rules import (
    check_binding_conditions,
    check_fully_qualified,
    check_list,
    check_map,
    check_opaque,
    check_pool,
    check_qualified,
    check_raw,
    check_set,
    check_taint,
    uuid_fault,
)

HERE = Path("p")
OVERLAP = "bindingFailureConditions must not overlap with bindingConditions"
UUID = "123e4567-E89B-12d3-a456-426614174000"


def refuse(_: object, path: Path):
    yield required(path)


def accept(_: object, path: Path):
    yield from ()


def test_check_list_validates_each_item():
    assert texts(check_list([1, 2], HERE, refuse, max_items=2)) == ["p[0]: Required value", "p[1]: Required value"]


def test_check_list_skips_items_above_limit():
    assert texts(check_list([1, 2, 3], HERE, refuse, max_items=2)) == ["p: Too many: 3: must have at most 2 items"]


def test_check_set_reports_duplicates_after_items():
    assert texts(check_set(["a", "b", "a"], HERE, accept, key=str, max_items=-1)) == ['p[2]: Duplicate value: "a"']


def test_check_map_reports_keys_at_the_map_and_values_with_their_key():
    faults = texts(check_map({"k": 1}, HERE, refuse, refuse, max_items=-1))
    assert faults == ["p: Required value", "p[k]: Required value"]


def test_check_map_shortens_long_keys():
    [fault] = texts(check_map({"k" * 97: 1}, HERE, accept, refuse, max_items=-1))
    assert fault == f"p[{'k' * 47}...{'k' * 46}]: Required value"


@pytest.mark.parametrize(
    ("name", "count"), [("numa", 0), ("d.com/numa", 0), ("/numa", 1), ("d.com/", 1), ("a" * 33, 1), ("0numa", 1)]
)
def test_check_qualified_accepts_optional_domain(name, count):
    assert len(list(check_qualified(name, HERE))) == count


@pytest.mark.parametrize(("name", "count"), [("d.com/numa", 0), ("numa", 1)])
def test_check_fully_qualified_requires_domain(name, count):
    assert len(list(check_fully_qualified(name, HERE))) == count


@pytest.mark.parametrize(("name", "count"), [("a", 0), ("a/b.c", 0), ("", 1), ("a//b", 1), ("A", 1)])
def test_check_pool_accepts_dns_subdomains_with_slashes(name, count):
    assert len(list(check_pool(name, HERE))) == count


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        ({"a": 1}, []),
        (None, ["p: Required value"]),
        ([1], ['p: Invalid value: "<value omitted>": must be a valid JSON object']),
        ({"a": "b" * 10240}, ["p: Too long: may not be more than 10240 bytes"]),
    ],
)
def test_check_raw_requires_object_within_size_limit(value, faults):
    assert texts(check_raw(value, HERE)) == faults


def test_check_raw_accepts_larger_stored_objects():
    assert texts(check_raw({"a": "b" * 10240}, HERE, stored=True)) == []


@pytest.mark.parametrize(
    ("config", "faults"),
    [
        ({}, ["p.opaque: Required value"]),
        ({"opaque": {"parameters": {}}}, ["p.opaque.driver: Required value"]),
        ({"opaque": {"driver": "d.com"}}, ["p.opaque.parameters: Required value"]),
    ],
)
def test_check_opaque_requires_driver(config, faults):
    assert texts(check_opaque(config, HERE)) == faults


@pytest.mark.parametrize(
    ("taint", "faults"),
    [
        ({"key": "a", "effect": "NoExecute"}, []),
        ({"key": "a"}, ["p.effect: Required value"]),
        (
            {"key": "a", "effect": "Never"},
            ['p.effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "None"'],
        ),
    ],
)
def test_check_taint_requires_effect(taint, faults):
    assert texts(check_taint(taint, HERE)) == faults


@pytest.mark.parametrize(
    ("awaited", "failures", "faults"),
    [
        ([], [], []),
        (["a"], ["b"], []),
        (
            ["a"],
            ["a"],
            [
                (
                    'p.bindingFailureConditions[0]: Invalid value: "a": '
                    "bindingFailureConditions must not overlap with bindingConditions"
                )
            ],
        ),
        (
            ["a"],
            [],
            [
                (
                    "p.bindingFailureConditions: Invalid value: null: "
                    "bindingFailureConditions are required to use bindingConditions"
                )
            ],
        ),
        (
            [],
            ["b"],
            [
                "p.bindingConditions: Invalid value: null: bindingConditions are required to use bindingFailureConditions"
            ],
        ),
        (list("abcde"), ["x"], ["p.bindingConditions: Too many: 5: must have at most 4 items"]),
        (
            ["a", "b"],
            ["a", "a", "b"],
            [
                f"p.bindingFailureConditions[{position}]: {fault}"
                for position, fault in (
                    (0, f'Invalid value: "a": {OVERLAP}'),
                    (1, 'Duplicate value: "a"'),
                    (1, f'Invalid value: "a": {OVERLAP}'),
                    (2, f'Invalid value: "b": {OVERLAP}'),
                )
            ],
        ),
    ],
)
def test_check_binding_conditions_requires_failure_conditions(awaited, failures, faults):
    device = {"bindingConditions": awaited, "bindingFailureConditions": failures}
    assert texts(check_binding_conditions(device, HERE)) == faults


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (UUID, ""),
        (f"urn:UUID:{UUID}", ""),
        (f"{{{UUID}}}", ""),
        (UUID.replace("-", ""), ""),
        ("", "invalid UUID length: 0"),
        (f"xrn:uuid:{UUID}", 'invalid urn prefix: "xrn:uuid:"'),
        (f"[{UUID}]", "invalid bracketed UUID format"),
        (UUID.replace("-", "1"), "invalid UUID format"),
        ("z" * 32, "invalid UUID format"),
    ],
)
def test_uuid_fault_returns_why_a_text_is_no_uuid(text, fault):
    assert uuid_fault(text) == fault
