"""Order and changes of the catalog."""

import pytest

from steersman.apiserver.discovery.catalog import Catalog, Registration, RemoteVersion, version_key
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


def listed(catalog: Catalog) -> dict[str, list[str]]:
    return {group.name: [version.version for version in group.versions] for group in catalog.listed_groups()}


def test_listed_groups_include_registered_versions_that_are_not_served():
    catalog = Catalog(table())
    catalog.add(gadget("v1"))
    catalog.set_registered([Registration("example.com", "v2", 1, 50), Registration("other.com", "v1", 1, 1)])
    groups = listed(catalog)
    assert groups["example.com"] == ["v1", "v2"]
    assert groups["other.com"] == ["v1"]
    assert catalog.group("other.com") is None
    assert catalog.group_version("example.com", "v2") is None


def test_listed_groups_are_ordered_by_registered_priorities():
    catalog = Catalog(table())
    built_in = list(listed(catalog))
    assert built_in[:2] == ["apiregistration.k8s.io", "apps"]
    for version in ("v1", "v2"):
        catalog.add(gadget(version))
    catalog.set_remote([RemoteVersion("remote.com", "v1", 19000, 1)])
    catalog.set_registered(
        [
            Registration("example.com", "v1", 20000, 200),
            Registration("b.com", "v1", 1000, 1),
            Registration("a.com", "v1beta1", 1000, 1),
        ]
    )
    groups = listed(catalog)
    assert list(groups)[:3] == ["apiregistration.k8s.io", "example.com", "remote.com"]
    assert list(groups)[-2:] == ["b.com", "a.com"]  # by the names of their APIServices
    assert groups["example.com"] == ["v1", "v2"]


def test_registrations_change_the_listing_but_not_the_served_resources():
    catalog = Catalog(table())
    catalog.on_change = lambda: pytest.fail("the served resources have not changed")
    before = catalog.generation, catalog.listing_generation
    for _ in range(2):
        catalog.set_registered([Registration("other.com", "v1", 1, 1)])
    assert (catalog.generation, catalog.listing_generation) == (before[0], before[1] + 1)
    assert listed(catalog)["other.com"] == ["v1"]
    catalog.set_registered([])
    assert "other.com" not in listed(catalog)
