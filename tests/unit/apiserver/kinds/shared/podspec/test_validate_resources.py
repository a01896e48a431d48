"""Validation of requests and limits."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.apiserver.kinds.objects import error_texts

from steersman.apimachinery.field import Path
from steersman.apiserver.kinds.shared.podspec.rules import TEMPLATE_RULES, PodRules
from steersman.apiserver.kinds.shared.podspec.validate_resources import (
    check_amount,
    check_container_resource_name,
    check_resource_name,
    validate_pod_resources,
    validate_requirements,
)

P = Path("r")


def faults(existing: frozenset[str] = frozenset(), rules: PodRules = TEMPLATE_RULES, **resources: object) -> list[str]:
    return error_texts(validate_requirements(resources, P, existing, rules))


def test_validate_requirements_accepts_absent_resources():
    assert error_texts(validate_requirements(None, P, frozenset(), TEMPLATE_RULES)) == []


@pytest.mark.parametrize(
    "resources",
    [
        {"limits": {"cpu": "1"}, "requests": {"cpu": "500m", "memory": "1Gi"}},
        {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "1"}},
        {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}, "requests": {"hugepages-2Mi": "4Mi"}},
    ],
)
def test_validate_requirements_accepts_valid_resources(resources: dict):
    assert faults(**resources) == []


@pytest.mark.parametrize(
    ("resources", "fault"),
    [
        (
            {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}},
            'r.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        ({"requests": {"cpu": "-1"}}, 'r.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0'),
        (
            {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1"}},
            'r.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2',
        ),
        (
            {"requests": {"example.com/gpu": "1"}},
            "r.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        (
            {"limits": {"example.com/gpu": "1500m"}},
            'r.limits[example.com/gpu]: Invalid value: "1500m": must be an integer',
        ),
        ({"limits": {"hugepages-2Mi": "2Mi"}}, "r: Forbidden: HugePages require cpu or memory"),
        (
            {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}},
            'r.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
        ),
        (
            {"limits": {"pods": "1"}},
            'r.limits[pods]: Invalid value: "pods": must be a standard resource for containers',
        ),
    ],
)
def test_validate_requirements_reports_single_error(resources: dict, fault: str):
    assert faults(**resources) == [fault]


def test_validate_requirements_accepts_page_fractions_of_old_pods():
    rules = PodRules(allow_partial_huge_pages=True)
    assert faults(rules=rules, limits={"hugepages-2Mi": "3Mi", "cpu": "1"}) == []


@pytest.mark.parametrize(
    ("used", "fault"),
    [
        ([{"name": "x"}, {"name": "x"}], 'r.claims[1]: Duplicate value: "x"'),
        ([{"name": "x", "request": "a"}, {"name": "x", "request": "a"}], 'r.claims[1]: Duplicate value: "x/a"'),
        ([{"name": "x", "request": "a"}, {"name": "x"}], 'r.claims[1]: Duplicate value: "x"'),
        ([{}], "r.claims[0]: Required value"),
        ([{"name": "y"}], 'r.claims[0]: Not found: "y": must be one of the names in pod.spec.resourceClaims: x, z'),
    ],
)
def test_validate_requirements_requires_existing_unique_claims(used: list[dict], fault: str):
    assert faults(frozenset({"z", "x"}), claims=used) == [fault]


def test_validate_requirements_rejects_claims_of_pod_without_claims():
    assert faults(claims=[{"name": "y"}]) == [
        'r.claims[0]: Not found: "y": must be one of the names in pod.spec.resourceClaims which is empty'
    ]


@pytest.mark.parametrize(
    ("name", "count"), [("cpu", 0), ("storage", 0), ("example.com/x", 0), ("gpu", 1), ("a/b/c", 1)]
)
def test_check_resource_name_requires_known_or_qualified_name(name: str, count: int):
    assert len(check_resource_name(name, P)) == count


def test_check_container_resource_name_requires_extended_resource_name():
    assert error_texts(check_container_resource_name("requests.example.com/x", P)) == [
        'r: Invalid value: "requests.example.com/x": doesn\'t follow extended resource name standard'
    ]


@pytest.mark.parametrize(
    ("name", "amount", "count"), [("cpu", "1m", 0), ("pods", "1m", 1), ("pods", "-1", 1), ("pods", "-1m", 2)]
)
def test_check_amount_rejects_negative_and_fractional_amounts(name: str, amount: str, count: int):
    assert len(error_texts(check_amount(name, amount, P))) == count


# -- Pod-level resources -------------------------------------------------------------------------------------------


def requests(**resources: object) -> dict:
    return {"name": "c", "resources": resources}


@pytest.mark.parametrize(
    ("own", "container", "fault"),
    [
        (
            {"requests": {"cpu": "1"}},
            requests(requests={"cpu": "2"}),
            'r.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
        ),
        (
            {"limits": {"cpu": "1"}},
            requests(limits={"cpu": "2"}),
            'r.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
        ),
        (
            {"limits": {"ephemeral-storage": "1"}},
            requests(),
            (
                'r.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": '
                'supported values: "cpu", "hugepages-", "memory"'
            ),
        ),
        (
            {"limits": {"cpu": "1", "hugepages-2Mi": "2Mi"}},
            requests(limits={"hugepages-2Mi": "4Mi"}),
            (
                'r.limits[hugepages-2Mi]: Invalid value: "2Mi": '
                "must be greater than or equal to aggregate container limits of 4Mi"
            ),
        ),
        ({"claims": []}, requests(), "r.claims: Forbidden: claims cannot be set for Resources at pod-level"),
    ],
)
def test_validate_pod_resources_rejects_container_totals_above_pod(own: dict, container: dict, fault: str):
    spec = {"containers": [container], "resources": own}
    assert error_texts(validate_pod_resources(spec, P, frozenset(), TEMPLATE_RULES))[:1] == [fault]


def test_validate_pod_resources_skips_resources_that_pod_does_not_set():
    spec = {
        "containers": [requests(requests={"memory": "1Gi", "example.com/x": "1"})],
        "resources": {"requests": {"cpu": "1"}},
    }
    assert error_texts(validate_pod_resources(spec, P, frozenset(), TEMPLATE_RULES)) == []


def test_validate_pod_resources_rejects_windows_pods():
    spec = {"containers": [], "resources": {"requests": {"cpu": "-1"}}, "os": {"name": "windows"}}
    assert error_texts(validate_pod_resources(spec, P, frozenset(), TEMPLATE_RULES)) == [
        "r: Forbidden: may not be set for a windows pod"
    ]


_amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "storage", "example.com/gpu", "a b"]),
    st.sampled_from(["0", "1", "-1", "500m", "1500m", "1Gi", "1G", "2Mi", "3Mi"]),
    max_size=3,
)


@given(_amounts, _amounts, st.sampled_from([None, [], [{"name": "c"}]]))
def test_validate_requirements_of_compute_resources_equals_the_rules_for_any_resource(limits, requests, claims):
    resources = {"limits": limits, "requests": requests, "claims": claims}
    by_all_rules = validate_requirements(
        resources,
        P,
        frozenset(),
        TEMPLATE_RULES,
        check_name=partial(check_container_resource_name),
    )
    assert faults(**resources) == error_texts(by_all_rules)
