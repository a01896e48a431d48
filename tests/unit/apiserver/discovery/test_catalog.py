"""Order and changes of the catalog."""

import pytest

from steersman.apiserver.discovery.catalog import Catalog, version_key
from steersman.schema.resources import Resource, table


def gadget(version: str, group: str = "example.com") -> Resource:
    return Resource(group, version, "gadgets", "Gadget", "gadget", namespaced=True, verbs=("get",))


def test_version_key_sorts_by_stability_then_number():
    versions = ["foo", "v1", "v10", "v2", "v1beta1", "v2beta3", "v1alpha7", "bar"]
    ordered = sorted(versions, key=version_key, reverse=True)
    assert ordered == ["v10", "v2", "v1", "v2beta3", "v1beta1", "v1alpha7", "bar", "foo"]


def test_custom_groups_follow_built_in_groups_by_name():
    catalog = Catalog(table())
    built_in = [group.name for group in catalog.groups()]
    catalog.add(gadget("v1", "zebra.example.com"))
    catalog.add(gadget("v1", "apple.example.com"))
    assert [group.name for group in catalog.groups()] == [*built_in, "apple.example.com", "zebra.example.com"]


def test_preferred_version_of_custom_group_is_most_stable():
    catalog = Catalog(table())
    for version in ("v1alpha1", "v1", "v2beta1"):
        catalog.add(gadget(version))
    group = catalog.group("example.com")
    assert group is not None
    assert [version.version for version in group.versions] == ["v1", "v2beta1", "v1alpha1"]


def test_built_in_groups_keep_their_version_order():
    autoscaling = Catalog(table()).group("autoscaling")
    assert autoscaling is not None
    assert [version.version for version in autoscaling.versions] == ["v2", "v1"]


def test_remove_drops_group_with_last_resource():
    catalog = Catalog(table())
    catalog.add(gadget("v1"))
    catalog.remove(gadget("v1"))
    assert catalog.group("example.com") is None


@pytest.mark.parametrize("change", [Catalog.add, Catalog.remove])
def test_every_change_increments_generation(change):
    catalog = Catalog(table())
    catalog.add(gadget("v1"))
    before = catalog.generation
    change(catalog, gadget("v1"))
    assert catalog.generation > before
