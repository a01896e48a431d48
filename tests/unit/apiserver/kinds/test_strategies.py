from __future__ import annotations

import sys

import pytest

from steersman.apiserver.generic.strategy import Strategy
from steersman.apiserver.kinds import strategies
from steersman.apiserver.kinds.strategies import module_name, plain_strategy, strategy_class
from steersman.schema.resources import Resource, table

WIDGETS = Resource(
    "example.com", "v1", "widgets", "Widget", "widget", True, (), key_prefix="/registry/example.com/widgets"
)


def test_every_kept_kind_has_a_strategy_that_knows_its_name():
    kept = [resource for resource in table().resources if resource.key_prefix]
    assert len(kept) > 50
    for resource in kept:
        found = strategy_class(resource)
        assert issubclass(found, Strategy)
        assert found.__name__ == f"{resource.kind}Strategy"


def test_a_kind_without_a_module_has_a_plain_one():
    found = strategy_class(WIDGETS)
    assert (found.__bases__, found.group_resource) == ((Strategy,), "widgets.example.com")
    assert plain_strategy(WIDGETS).__name__ == "WidgetStrategy"


def test_modules_are_found_by_the_group_that_a_kind_is_stored_as():
    [event] = [r for r in table().resources if (r.group, r.name) == ("events.k8s.io", "events")]
    assert module_name(event).endswith(".registry.core.event")
    [role] = [r for r in table().resources if (r.group, r.name) == ("rbac.authorization.k8s.io", "roles")]
    assert module_name(role).endswith(".registry.rbac.role")


def test_a_module_that_breaks_is_no_missing_one(monkeypatch, tmp_path):
    (tmp_path / "widgets_of_tests").mkdir()
    (tmp_path / "widgets_of_tests" / "__init__.py").write_text("")
    (tmp_path / "widgets_of_tests" / "widget.py").write_text("import there_is_no_such_module\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(strategies, "module_name", lambda _: "widgets_of_tests.widget")
    with pytest.raises(ModuleNotFoundError, match="there_is_no_such_module"):
        strategy_class(WIDGETS)
    sys.modules.pop("widgets_of_tests", None)
