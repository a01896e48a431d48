"""ResourceQuotas."""

from __future__ import annotations

from tests.unit.apiserver.kinds.objects import NOW, context, defaulted, is_idempotent, told, tree

from steersman.apiserver.kinds.core.resourcequota import ResourceQuotaStrategy

KIND = ResourceQuotaStrategy()


def test_amounts_are_rounded_in_spec_and_status():
    obj = tree(spec={"hard": {"cpu": "1.5"}}, status={"hard": {"cpu": "1u"}, "used": {"cpu": "0.1"}})
    assert defaulted(KIND, obj) == tree(
        spec={"hard": {"cpu": "1500m"}}, status={"hard": {"cpu": "1m"}, "used": {"cpu": "100m"}}
    )
    assert is_idempotent(KIND, obj)


def test_a_new_quota_counts_nothing_yet():
    obj = tree(spec={"hard": {"pods": "1"}}, status={"used": {"pods": "7"}})
    KIND.prepare_for_create(context(), obj)
    assert obj["status"] == {}


def test_scopes_do_not_change():
    new = tree(spec={"scopes": ["BestEffort"]})
    assert told(KIND.validate_update(context(), new, tree(spec={}))) == [
        'spec.scopes: Invalid value: ["BestEffort"]: field is immutable'
    ]


def test_the_status_holds_amounts():
    assert told(KIND.validate_status_update(context(), tree(status={"used": {"pods": "-1"}}), tree())) == [
        'status.used[pods]: Invalid value: "-1": must be greater than or equal to 0'
    ]


def test_only_creations_are_warned_about():
    obj = tree(spec={"hard": {"requests.cpu": "2", "limits.cpu": "1"}})
    assert list(KIND.warnings(context(), obj, None)) == [
        "ResourceQuota requests.cpu (2) should be less than limits.cpu (1)"
    ]
    assert list(KIND.warnings(context(), obj, obj)) == []


def test_the_row_tells_requests_and_limits_apart():
    status = {"hard": {"pods": "5", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "3", "limits.cpu": "1"}}
    assert [column.name for column in KIND.columns] == ["Name", "Request", "Limit", "Age"]
    assert KIND.cells(tree(status=status), NOW) == ["a", "cpu: 0/1, pods: 3/5", "limits.cpu: 1/2", "60s"]
