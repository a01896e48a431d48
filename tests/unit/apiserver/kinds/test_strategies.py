from __future__ import annotations

import pytest

from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.kinds.strategies import STRATEGY_MODULES, strategy_class, strategy_key
from steersman.schema.resources import Resource, table

WIDGETS = Resource(
    "example.com", "v1", "widgets", "Widget", "widget", True, (), key_prefix="/registry/example.com/widgets"
)
#: Served but not stored.
SERVED = [r for r in table().resources if r.key_prefix or r.kind == "ComponentStatus"]


@pytest.mark.parametrize("resource", SERVED, ids=lambda resource: f"{resource.group_resource}-{resource.version}")
def test_strategy_class_of_served_kind(resource: Resource) -> None:
    strategy = strategy_class(resource)
    assert issubclass(strategy, Strategy)
    assert strategy is not Strategy
    assert strategy.__name__ == f"{resource.kind}Strategy"
    assert strategy.__module__.startswith("steersman.apiserver.kinds.")


def test_strategy_modules_list_served_kinds_only() -> None:
    assert {strategy_key(resource) for resource in SERVED} == set(STRATEGY_MODULES)


def test_strategy_class_raises_for_kind_without_strategy() -> None:
    with pytest.raises(LookupError, match="example/Widget: no strategy"):
        strategy_class(WIDGETS)


def test_strategy_class_raises_when_module_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STRATEGY_MODULES, "example/Widget", "example.widget")  # type: ignore[arg-type]
    with pytest.raises(ModuleNotFoundError, match="example"):
        strategy_class(WIDGETS)


def test_strategy_key_uses_storage_group() -> None:
    [event] = [r for r in table().resources if (r.group, r.name) == ("events.k8s.io", "events")]
    assert strategy_key(event) == "core/Event"
