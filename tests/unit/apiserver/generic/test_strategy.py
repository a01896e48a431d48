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


def test_columns_are_described_by_their_own_text_or_by_a_field():
    assert Column("Ready", description="How many.").text() == "How many."
    assert Column("Node", field="core.v1.PodSpec.nodeName").text().startswith("NodeName indicates ")
    assert Column("Age", field="meta.v1.ObjectMeta.creationTimestamp").text().startswith("CreationTimestamp is ")
    assert Column("Nothing", field="core.v1.PodSpec.nothing").text() == ""


def test_a_new_object_has_no_status_of_its_clients():
    obj = tree(status={"said": "by client"})
    Plain().prepare_for_create(context(), obj)
    assert "status" not in obj


@pytest.mark.parametrize(("strategy", "status"), [(WithStatus(), {}), (WithLoadBalancer(), {"loadBalancer": {}})])
def test_a_new_object_has_the_status_that_go_writes(strategy: Strategy, status: dict):
    obj = tree(status={"replicas": 7})
    strategy.prepare_for_create(context(), obj)
    assert obj["status"] == status


def test_two_new_objects_do_not_share_their_status():
    first, second = tree(), tree()
    WithStatus().reset_status(first)
    WithStatus().reset_status(second)
    assert first["status"] is not second["status"]


def test_an_update_does_not_change_the_status():
    obj = tree(spec={"a": 2}, status={"s": 2})
    Plain().prepare_for_update(context(), obj, tree(spec={"a": 1}, status={"s": 1}))
    assert obj == tree(spec={"a": 2}, status={"s": 1})


def test_a_write_of_the_status_changes_nothing_else():
    obj = tree(spec={"a": 2}, added=1, status={"s": 2})
    Plain().prepare_for_status_update(context(), obj, tree(spec={"a": 1}, data={"k": "v"}, status={"s": 1}))
    assert obj == tree(spec={"a": 1}, data={"k": "v"}, status={"s": 2})


@pytest.mark.parametrize("method", ["prepare_for_update", "prepare_for_status_update"])
def test_the_old_object_is_never_changed(method: str):
    old = tree(spec={"a": 1}, status={"s": 1})
    before = copy(old)
    getattr(Plain(), method)(context(), tree(spec={"a": 2}, status={"s": 2}), old)
    assert old == before


def test_names_go_into_dns():
    assert not Plain().name_errors("a.b-c")
    assert Plain().name_errors("A")
    assert not Plain().name_errors("a-", prefix=True)


def test_the_spec_counts_for_the_generation():
    assert Plain().generation_view(tree(spec={"a": 1}, status={"s": 1})) == {"a": 1}


def test_a_row_tells_name_and_time_of_creation():
    strategy = Plain()
    assert [column.name for column in strategy.columns] == ["Name", "Created At"]
    assert strategy.cells(tree(), NOW) == ["a", "2026-01-01T00:00:00Z"]


async def test_a_kind_writes_its_own_key_only():
    strategy = Plain()
    assert list(await strategy.extra_ops_on_create(context(), tree())) == []
    assert list(await strategy.extra_ops_on_update(context(), tree(), tree())) == []
    assert list(await strategy.extra_ops_on_delete(context(), tree())) == []


@pytest.mark.parametrize("requested", [None, 0, 30])
def test_a_kind_without_grace_goes_at_once(requested: int | None):
    assert Plain().grace_period_seconds(context(), tree(), requested) == 0


def test_nothing_but_finalizers_holds_a_terminating_object():
    assert Plain().is_finalized(tree(spec={"finalizers": ["kubernetes"]}))
