"""ServiceAccounts."""

from __future__ import annotations

from tests.unit.apiserver.kinds.objects import NOW, context, copy, tree

from steersman.apiserver.kinds.core.serviceaccount import ServiceAccountStrategy

KIND = ServiceAccountStrategy()
ENFORCE = "kubernetes.io/enforce-mountable-secrets"
MARKED = tree({"annotations": {ENFORCE: "true"}})


def test_cells_show_name_and_age():
    assert [column.name for column in KIND.columns] == ["Name", "Age"]
    assert KIND.cells(tree(secrets=[{"name": "s"}]), NOW) == ["a", "60s"]


def test_warnings_when_mountable_secrets_are_enforced():
    warning = (
        f"metadata.annotations[{ENFORCE}]: deprecated in v1.32+; "
        "prefer separate namespaces to isolate access to mounted secrets"
    )
    assert list(KIND.warnings(context(), MARKED, None)) == [warning]
    assert list(KIND.warnings(context(), MARKED, tree())) == [warning]


def test_warnings_only_when_annotation_is_added():
    assert list(KIND.warnings(context(), MARKED, MARKED)) == []
    assert list(KIND.warnings(context(), tree(), None)) == []


def test_prepare_keeps_names_of_secrets_only():
    secrets = [{"kind": "Secret", "namespace": "n", "name": "s", "uid": "u"}, {"name": "t"}]
    for obj in (tree(secrets=copy(secrets)), tree()):
        KIND.prepare_for_create(context(), obj)
        assert obj.get("secrets", [{"name": "s"}, {"name": "t"}]) == [{"name": "s"}, {"name": "t"}]
    obj = tree(secrets=copy(secrets))
    KIND.prepare_for_update(context(), obj, tree())
    assert obj["secrets"] == [{"name": "s"}, {"name": "t"}]


def test_delete_returns_object():
    assert KIND.returns_deleted_object
