"""The rules of a kind without peculiarities."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.kinds.objects import NOW, context, copy, tree

from steersman.apiserver.generic.strategy import Column, Strategy


class Plain(Strategy):
    group_resource = "configmaps"


class WithStatus(Strategy):
    group_resource = "deployments.apps"


class WithLoadBalancer(Strategy):
    group_resource = "services"


def test_column_description_is_its_own_or_that_of_the_field():
    assert Column("Ready", description="How many.").text() == "How many."
    assert Column("Node", field="core.v1.PodSpec.nodeName").text().startswith("NodeName indicates ")
    assert Column("Age", field="meta.v1.ObjectMeta.creationTimestamp").text().startswith("CreationTimestamp is ")
    assert Column("Nothing", field="core.v1.PodSpec.nothing").text() == ""


def test_create_drops_the_status_of_the_client():
    obj = tree(status={"said": "by client"})
    Plain().prepare_for_create(context(), obj)
    assert "status" not in obj


@pytest.mark.parametrize(("strategy", "status"), [(WithStatus(), {}), (WithLoadBalancer(), {"loadBalancer": {}})])
def test_create_sets_the_status_that_go_writes(strategy: Strategy, status: dict):
    obj = tree(status={"replicas": 7})
    strategy.prepare_for_create(context(), obj)
    assert obj["status"] == status


def test_created_objects_do_not_share_their_status():
    first, second = tree(), tree()
    WithStatus().reset_status(first)
    WithStatus().reset_status(second)
    assert first["status"] is not second["status"]


def test_update_keeps_the_status():
    obj = tree(spec={"a": 2}, status={"s": 2})
    Plain().prepare_for_update(context(), obj, tree(spec={"a": 1}, status={"s": 1}))
    assert obj == tree(spec={"a": 2}, status={"s": 1})


def test_status_update_keeps_everything_else():
    obj = tree(spec={"a": 2}, added=1, status={"s": 2})
    Plain().prepare_for_status_update(context(), obj, tree(spec={"a": 1}, data={"k": "v"}, status={"s": 1}))
    assert obj == tree(spec={"a": 1}, data={"k": "v"}, status={"s": 2})


@pytest.mark.parametrize("method", ["prepare_for_update", "prepare_for_status_update"])
def test_hooks_do_not_change_the_old_object(method: str):
    old = tree(spec={"a": 1}, status={"s": 1})
    before = copy(old)
    getattr(Plain(), method)(context(), tree(spec={"a": 2}, status={"s": 2}), old)
    assert old == before


def test_names_are_dns_subdomains():
    assert not Plain().name_errors("a.b-c")
    assert Plain().name_errors("A")
    assert not Plain().name_errors("a-", prefix=True)


def test_generation_increases_with_the_spec():
    assert Plain().generation_view(tree(spec={"a": 1}, status={"s": 1})) == {"a": 1}


def test_default_columns_are_name_and_creation_time():
    strategy = Plain()
    assert [column.name for column in strategy.columns] == ["Name", "Created At"]
    assert strategy.cells(tree(), NOW) == ["a", "2026-01-01T00:00:00Z"]


async def test_extra_ops_are_empty_by_default():
    strategy = Plain()
    assert list(await strategy.extra_ops_on_create(context(), tree())) == []
    assert list(await strategy.extra_ops_on_update(context(), tree(), tree())) == []
    assert list(await strategy.extra_ops_on_delete(context(), tree())) == []


@pytest.mark.parametrize("requested", [None, 0, 30])
def test_kind_without_graceful_deletion_has_grace_period_zero(requested: int | None):
    assert Plain().grace_period_seconds(context(), tree(), requested) == 0


def test_terminating_object_is_held_by_finalizers_only():
    assert Plain().is_finalized(tree(spec={"finalizers": ["kubernetes"]}))
