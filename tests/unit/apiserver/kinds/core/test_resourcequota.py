"""ResourceQuotas."""

from __future__ import annotations

from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, error_texts, is_idempotent, tree

from steersman.apiserver.kinds.core.resourcequota import ResourceQuotaStrategy

KIND = ResourceQuotaStrategy()


def test_default_rounds_amounts_of_spec_and_status():
    obj = tree(spec={"hard": {"cpu": "1.5"}}, status={"hard": {"cpu": "1u"}, "used": {"cpu": "0.1"}})
    assert defaulted(KIND, obj) == tree(
        spec={"hard": {"cpu": "1500m"}}, status={"hard": {"cpu": "1m"}, "used": {"cpu": "100m"}}
    )
    assert is_idempotent(KIND, obj)


def test_prepare_for_create_empties_status():
    obj = tree(spec={"hard": {"pods": "1"}}, status={"used": {"pods": "7"}})
    KIND.prepare_for_create(context(), obj)
    assert obj["status"] == {}


def test_validate_update_rejects_scope_change():
    new = tree(spec={"scopes": ["BestEffort"]})
    assert error_texts(KIND.validate_update(context(), new, tree(spec={}))) == [
        'spec.scopes: Invalid value: ["BestEffort"]: field is immutable'
    ]


def test_validate_status_update_checks_amounts():
    assert error_texts(KIND.validate_status_update(context(), tree(status={"used": {"pods": "-1"}}), tree())) == [
        'status.used[pods]: Invalid value: "-1": must be greater than or equal to 0'
    ]


def test_warnings_on_create_only():
    obj = tree(spec={"hard": {"requests.cpu": "2", "limits.cpu": "1"}})
    assert list(KIND.warnings(context(), obj, None)) == [
        "ResourceQuota requests.cpu (2) should be less than limits.cpu (1)"
    ]
    assert list(KIND.warnings(context(), obj, obj)) == []


def test_cells_separate_requests_and_limits():
    status = {"hard": {"pods": "5", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "3", "limits.cpu": "1"}}
    assert [column.name for column in KIND.columns] == ["Name", "Request", "Limit", "Age"]
    assert KIND.cells(tree(status=status), NOW) == ["a", "cpu: 0/1, pods: 3/5", "limits.cpu: 1/2", "60s"]
