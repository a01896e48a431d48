"""Validation of ResourceQuotas and LimitRanges."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import error_texts, tree

from steersman.apiserver.kinds.shared.quota_validation import (
    quota_warnings,
    validate_limit_range,
    validate_quota,
    validate_quota_status,
    validate_quota_update,
)

EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def faults(**spec: object) -> list[str]:
    return error_texts(validate_quota(tree(spec=spec)))


def selector(**requirement: object) -> dict:
    return {"scopeSelector": {"matchExpressions": [requirement]}}


@pytest.mark.parametrize(
    "spec",
    [
        {"hard": {"cpu": "1", "requests.storage": "1Gi", "pods": "3", "count/jobs.batch": "2"}},
        {"hard": {"requests.example.com/gpu": "1", "requests.hugepages-2Mi": "2Mi"}},
        {"hard": {"pods": "1"}, "scopes": ["BestEffort", "Terminating"]},
        {"hard": {"cpu": "1"}, "scopes": ["NotBestEffort"]},
        selector(scopeName="PriorityClass", operator="In", values=["high"]),
        selector(scopeName="Terminating", operator="Exists"),
        {"hard": {"limits.cpu": "1"}, **selector(scopeName="CrossNamespacePodAffinity", operator="Exists")},
    ],
)
def test_validate_quota_accepts_valid_quotas(spec: dict):
    assert faults(**spec) == []


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        (
            {"hard": {"storage": "1"}},
            'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota',
        ),
        ({"hard": {"pods": "-1"}}, 'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0'),
        ({"hard": {"pods": "1500m"}}, 'spec.hard[pods]: Invalid value: "1500m": must be an integer'),
        ({"scopes": ["Mine"]}, 'spec.scopes: Invalid value: ["Mine"]: unsupported scope'),
        (
            {"scopes": ["BestEffort", "NotBestEffort"]},
            'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes',
        ),
        (
            {"hard": {"cpu": "1"}, "scopes": ["BestEffort"]},
            'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
        ),
        (
            {"hard": {"requests.ephemeral-storage": "1"}, "scopes": ["NotBestEffort"]},
            'spec.scopes: Invalid value: ["NotBestEffort"]: unsupported scope applied to resource',
        ),
        (
            {"hard": {"services": "1"}, **selector(scopeName="Terminating", operator="Exists")},
            (
                'spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"Terminating",'
                '"Operator":"Exists","Values":null}]}: unsupported scope applied to resource'
            ),
        ),
        (
            selector(scopeName="Terminating", operator="In", values=["x"]),
            f'spec.scopeSelector.matchExpressions.operator: Invalid value: "In": {EXISTS}',
        ),
        (
            selector(scopeName="PriorityClass", operator="In"),
            (
                "spec.scopeSelector.matchExpressions.values: Required value: "
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            ),
        ),
        (
            selector(scopeName="PriorityClass", operator="Exists", values=["x"]),
            (
                'spec.scopeSelector.matchExpressions.values: Invalid value: ["x"]: '
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            ),
        ),
        (
            selector(scopeName="PriorityClass", operator="Gt"),
            'spec.scopeSelector.matchExpressions.operator: Invalid value: "Gt": not a valid selector operator',
        ),
        (
            selector(scopeName="Mine", operator="Exists"),
            'spec.scopeSelector.matchExpressions.scopeName: Invalid value: "Mine": unsupported scope',
        ),
    ],
)
def test_validate_quota_reports_single_error(spec: dict, fault: str):
    assert faults(**spec) == [fault]


def test_validate_quota_reports_unknown_resource_twice():
    assert faults(hard={"gpu": "1"}) == [
        'spec.hard[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified',
        'spec.hard[gpu]: Invalid value: "gpu": must be a standard resource for quota',
    ]


def test_validate_quota_update_rejects_scope_change_but_not_reordering():
    old = tree(spec={"scopes": ["BestEffort", "Terminating"]})
    assert error_texts(validate_quota_update(tree(spec={"scopes": ["Terminating", "BestEffort"]}), old)) == []
    assert error_texts(validate_quota_update(tree(spec={}), old)) == [
        "spec.scopes: Invalid value: null: field is immutable"
    ]


@pytest.mark.parametrize("part", ["hard", "used"])
def test_validate_quota_status_checks_amounts(part: str):
    assert error_texts(validate_quota_status(tree(status={part: {"storage": "1"}}))) == [
        f'status.{part}[storage]: Invalid value: "storage": must be a standard resource for quota'
    ]


@pytest.mark.parametrize(
    "hard", [{}, {"limits.cpu": "1"}, {"cpu": "1", "limits.cpu": "1"}, {"requests.cpu": "500m", "limits.cpu": "1"}]
)
def test_quota_warnings_is_empty_when_requests_are_within_limits(hard: dict):
    assert quota_warnings(tree(spec={"hard": hard})) == []


def test_quota_warnings_about_requests_above_limits():
    assert quota_warnings(tree(spec={"hard": {"memory": "2Gi", "limits.memory": "1Gi"}})) == [
        "ResourceQuota memory (2Gi) should be less than limits.memory (1Gi)"
    ]


# -- limit ranges -------------------------------------------------------------------------------------------------------


def limit_faults(kind: str = "Container", **item: dict) -> list[str]:
    return error_texts(validate_limit_range(tree(spec={"limits": [{"type": kind, **item}]})))


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        (
            "Container",
            {"min": {"cpu": "1"}, "max": {"cpu": "2"}, "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}},
        ),
        ("Pod", {"max": {"cpu": "2"}, "min": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": "2"}}),
        ("PersistentVolumeClaim", {"max": {"storage": "1Gi"}}),
        ("example.com/own", {"max": {"example.com/gpu": "1"}}),
    ],
)
def test_validate_limit_range_accepts_valid_limits(kind: str, item: dict):
    assert limit_faults(kind, **item) == []


W = "spec.limits[0]"


@pytest.mark.parametrize(
    ("kind", "item", "fault"),
    [
        ("Disk", {}, f'{W}.type: Invalid value: "Disk": must be a standard limit type or fully qualified'),
        ("Pod", {"default": {"cpu": "1"}}, f"{W}.default: Forbidden: may not be specified when `type` is 'Pod'"),
        (
            "PersistentVolumeClaim",
            {},
            f"{W}.limits: Required value: either minimum or maximum storage value is required, but neither was provided",
        ),
        (
            "Container",
            {"min": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}},
            f'{W}.defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1',
        ),
        (
            "Container",
            {"max": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}},
            f'{W}.defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than max value 1',
        ),
        (
            "Container",
            {"default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}},
            (
                f'{W}.defaultRequest[cpu]: Invalid value: "2": '
                "default request value 2 is greater than default limit value 1"
            ),
        ),
        (
            "Container",
            {"min": {"cpu": "2"}, "default": {"cpu": "1"}},
            f'{W}.default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
        ),
        (
            "Container",
            {"max": {"cpu": "1"}, "default": {"cpu": "2"}},
            f'{W}.default[cpu]: Invalid value: "1": default value 2 is greater than max value 1',
        ),
        (
            "Container",
            {"maxLimitRequestRatio": {"cpu": "500m"}},
            f'{W}.maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
        ),
        (
            "Container",
            {"min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}},
            f'{W}.maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000',
        ),
        (
            "Container",
            {"default": {"example.com/gpu": "2"}, "defaultRequest": {"example.com/gpu": "1"}},
            (
                f'{W}.defaultRequest[example.com/gpu]: Invalid value: "1": '
                "default value 2 must equal to defaultRequest value 1 in example.com/gpu"
            ),
        ),
        (
            "Container",
            {"max": {"pods": "1"}},
            f'{W}.max[pods]: Invalid value: "pods": must be a standard resource for containers',
        ),
    ],
)
def test_validate_limit_range_rejects_contradicting_limits(kind: str, item: dict, fault: str):
    assert limit_faults(kind, **item) == [fault]


def test_validate_limit_range_rejects_duplicate_types():
    limits = [{"type": "Pod"}, {"type": "Container"}, {"type": "Pod"}]
    assert error_texts(validate_limit_range(tree(spec={"limits": limits}))) == [
        'spec.limits[2].type: Duplicate value: "Pod"'
    ]
