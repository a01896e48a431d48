"""ConfigMaps."""

from __future__ import annotations

from tests.unit.apiserver.kinds.objects import NOW, context, error_texts, tree

from steersman.apiserver.kinds.core.configmap import ConfigMapStrategy

KIND = ConfigMapStrategy()


def test_cells_count_data_and_binary_data():
    assert [column.name for column in KIND.columns] == ["Name", "Data", "Age"]
    assert KIND.cells(tree(data={"a": "", "b": ""}, binaryData={"c": ""}), NOW) == ["a", 3, "60s"]
    assert KIND.cells(tree(), NOW) == ["a", 0, "60s"]


def test_validate_checks_keys_on_create_and_update():
    bad = tree(data={"a/b": ""})
    assert (
        len(error_texts(KIND.validate(context(), bad)))
        == len(error_texts(KIND.validate_update(context(), bad, tree())))
        == 1
    )


def test_validate_update_rejects_change_of_immutable_data():
    old = tree(immutable=True, data={"k": "v"})
    assert error_texts(KIND.validate_update(context(), tree(immutable=True, data={}), old)) == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]


def test_update_is_unconditional_and_does_not_create():
    assert (KIND.allow_unconditional_update, KIND.allow_create_on_update) == (True, False)
