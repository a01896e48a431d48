"""ConfigMaps."""

from __future__ import annotations

from tests.unit.apiserver.kinds.objects import NOW, context, told, tree

from steersman.apiserver.kinds.core.configmap import ConfigMapStrategy

KIND = ConfigMapStrategy()


def test_the_row_counts_text_and_binary_together():
    assert [column.name for column in KIND.columns] == ["Name", "Data", "Age"]
    assert KIND.cells(tree(data={"a": "", "b": ""}, binaryData={"c": ""}), NOW) == ["a", 3, "60s"]
    assert KIND.cells(tree(), NOW) == ["a", 0, "60s"]


def test_keys_are_looked_at_at_creation_and_at_updates():
    bad = tree(data={"a/b": ""})
    assert len(told(KIND.validate(context(), bad))) == len(told(KIND.validate_update(context(), bad, tree()))) == 1


def test_what_is_frozen_does_not_change():
    old = tree(immutable=True, data={"k": "v"})
    assert told(KIND.validate_update(context(), tree(immutable=True, data={}), old)) == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]


def test_any_update_may_overwrite_and_none_creates():
    assert (KIND.allow_unconditional_update, KIND.allow_create_on_update) == (True, False)
