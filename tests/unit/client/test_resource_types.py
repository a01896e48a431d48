"""Resources of classes and kinds."""

import msgspec
import pytest
from lightkube.models.apps_v1 import Deployment
from lightkube.models.core_v1 import Container, Event, Pod
from lightkube.models.events_v1 import Event as NewEvent
from lightkube.resources.core_v1 import Pod as PodResource

from steersman.client import resource_types
from steersman.schema.resources import table


class Widget(msgspec.Struct):
    metadata: dict


class LoudWidget(Widget):
    pass


@pytest.mark.parametrize(
    ("model", "name"),
    [(Pod, "pods"), (Deployment, "deployments.apps"), (Event, "events"), (NewEvent, "events.events.k8s.io")],
)
def test_typed_returns_the_resource_of_a_model(model, name):
    assert resource_types.typed(model).info.group_resource == name


def test_typed_returns_the_resource_of_a_lightkube_resource():
    result = resource_types.typed(PodResource)
    assert (result.info.name, result.model) == ("pods", PodResource)


def test_typed_rejects_other_classes():
    with pytest.raises(LookupError, match=r"core_v1\.Container is the class of no resource"):
        resource_types.typed(Container)


def test_typed_model_exists_for_every_built_in_kind():
    for info in table().resources:
        result = resource_types.typed_model(info.api_version, info.kind)
        assert resource_types.typed(result.model).info == info


def test_tree_returns_a_resource_of_plain_trees():
    body = resource_types.tree("apps/v1", "Deployment")
    assert (body.info.name, body.model, body.is_tree) == ("deployments", dict, True)
    assert resource_types.typed(Deployment).as_trees() == body


def test_tree_rejects_unknown_kinds():
    with pytest.raises(LookupError, match=r"example\.com/v1 Widget is no built-in kind"):
        resource_types.tree("example.com/v1", "Widget")


def test_custom_registers_its_model():
    created = resource_types.custom("example.com/v1", "Widget", plural="widgets", model=Widget)
    assert resource_types.typed(Widget) == created
    assert created.info.api_version == "example.com/v1"
    assert resource_types.typed(LoudWidget).model is LoudWidget


def test_resource_types_differ_by_model():
    typed, tree = resource_types.typed(Pod), resource_types.tree("v1", "Pod")
    assert typed != tree
    assert len({typed, tree, resource_types.typed(Pod)}) == 2
    assert repr(tree) == "ResourceType(v1 Pod, dict)"
