"""Discovery documents."""

from steersman.apiserver.discovery import documents
from steersman.apiserver.discovery.catalog import Catalog
from steersman.schema.resources import Resource, Subresource, table


def rows_of(api_version: str) -> dict[str, dict]:
    group, _, version = api_version.rpartition("/")
    result = Catalog(table()).group_version(group, version)
    assert result is not None
    return {row["name"]: row for row in documents.resource_list(result)["resources"]}


def test_subresource_of_other_group_has_group():
    row = rows_of("apps/v1")["deployments/scale"]
    assert (row["group"], row["version"], row["kind"]) == ("autoscaling", "v1", "Scale")


def test_storage_version_hash_is_equal_for_all_versions():
    hashes = {rows_of(f"autoscaling/{v}")["horizontalpodautoscalers"]["storageVersionHash"] for v in ("v1", "v2")}
    assert hashes == {"qwQve8ut294="}


def test_storage_version_hash_is_absent_when_not_stored():
    assert "storageVersionHash" not in rows_of("authentication.k8s.io/v1")["tokenreviews"]


def test_resource_list_of_core_group_has_no_api_version():
    catalog = Catalog(table())
    core, apps = catalog.group_version("", "v1"), catalog.group_version("apps", "v1")
    assert core is not None
    assert apps is not None
    assert "apiVersion" not in documents.resource_list(core)
    assert documents.resource_list(apps)["apiVersion"] == "v1"


def test_aggregated_subresource_omits_own_group():
    items = documents.aggregated(Catalog(table()).groups())["items"]
    apps = next(item for item in items if item["metadata"]["name"] == "apps")
    deployments = next(r for r in apps["versions"][0]["resources"] if r["resource"] == "deployments")
    assert deployments["responseKind"] == {"group": "", "version": "", "kind": "Deployment"}
    assert {s["subresource"] for s in deployments["subresources"]} == {"scale", "status"}


def test_aggregated_kinds_of_custom_resources_have_group_and_version():
    catalog = Catalog(table())
    verbs = ("get",)
    subresources = (
        Subresource("status", "Gadget", verbs, "example.com", "v1"),
        Subresource("scale", "Scale", verbs, "autoscaling", "v1"),
    )
    names = ("example.com", "v1", "gadgets", "Gadget", "gadget")
    catalog.add(Resource(*names, namespaced=True, verbs=verbs, subresources=subresources))
    (gadgets,) = documents.aggregated(catalog.groups())["items"][-1]["versions"][0]["resources"]
    own = {"group": "example.com", "version": "v1", "kind": "Gadget"}
    assert gadgets["responseKind"] == own
    assert [row["responseKind"] for row in gadgets["subresources"]] == [
        own,
        {"group": "autoscaling", "version": "v1", "kind": "Scale"},
    ]


def test_hashes_of_storage_versions_can_be_left_out_of_built_in_resources():
    catalog = Catalog(table())
    version = catalog.group_version("apps", "v1")
    assert version is not None
    rows = documents.resource_list(version, with_hashes=False)["resources"]
    assert not any("storageVersionHash" in row for row in rows)
    assert any("storageVersionHash" in row for row in documents.resource_list(version)["resources"])
