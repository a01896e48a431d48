from __future__ import annotations

from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.kinds.catalog import BuiltInKinds
from steersman.apiserver.kinds.core.configmap import ConfigMapStrategy
from steersman.schema.resources import Resource, table


def resource_of(group: str, name: str) -> Resource:
    [resource] = [r for r in table().resources if (r.group, r.name) == (group, name)]
    return resource


def test_strategy_uses_given_constructor() -> None:
    strategy = Strategy()
    kinds = BuiltInKinds({"configmaps": lambda: strategy})
    assert kinds.strategy(resource_of("", "configmaps")) is strategy
    assert isinstance(BuiltInKinds().strategy(resource_of("", "configmaps")), ConfigMapStrategy)


def test_ttl_seconds_applies_to_events_of_both_groups() -> None:
    kinds = BuiltInKinds(event_ttl_seconds=60)
    ttls = [kinds.ttl_seconds(resource_of(*key)) for key in (("", "events"), ("events.k8s.io", "events"), ("", "pods"))]
    assert ttls == [60, 60, None]


def test_field_labels_differ_for_events_of_events_group() -> None:
    kinds = BuiltInKinds()
    labels = kinds.field_labels(resource_of("events.k8s.io", "events"))
    assert labels is not None
    assert labels["regarding.name"] == "involvedObject.name"
    assert kinds.field_labels(resource_of("", "events")) is None
