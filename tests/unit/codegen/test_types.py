from __future__ import annotations

import pytest
from codegen import types
from codegen.sources import definitions
from codegen.types import kinds_of, table_name, type_tables

MODULE = "io.k8s.api.apps.v1."


@pytest.fixture(scope="module")
def tables():
    return type_tables(definitions())


def test_table_name_has_group_and_version():
    assert table_name("io.k8s.api.apps.v1") == "apps_v1"
    assert table_name("io.k8s.apimachinery.pkg.apis.meta.v1") == "meta_v1"


def test_kinds_are_found_by_group_version_and_kind():
    assert kinds_of(definitions())["apps", "v1", "Deployment"] == MODULE + "Deployment"


def test_versions_that_are_not_served_have_no_table(tables):
    assert "coordination_v1beta1" in tables
    assert "resource_v1beta1" not in tables


def test_type_tables_have_fields_types_and_flags(tables):
    [fields] = tables["coordination_v1"]["LeaseList"]
    assert ["items", ["list", "#Lease"], "rw"] in fields
    assert ["metadata", "#io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta", "w"] in fields


def test_lists_carry_their_keys_and_patch_strategy(tables):
    [fields] = tables["core_v1"]["ServiceSpec"]
    [ports] = [field for field in fields if field[0] == "ports"]
    assert ports[1] == ["list", "#ServicePort", "map", ["port", "protocol"], {"protocol": "TCP"}]
    assert ports[3] == {"patch": ["merge"], "key": "port"}


def test_type_tables_have_no_descriptions(tables):
    words = {
        word for table in tables.values() for row in table.values() for field in row[0] for word in field[0].split()
    }
    assert all(" " not in word for word in words)


def test_type_tables_raise_for_an_unused_overlay_entry(monkeypatch):
    overlay = types.overlay
    stale = {"fields": {"apps_v1.Deployment": {"value": ["noSuchField"]}}}
    monkeypatch.setattr(types, "overlay", lambda name: stale.get(name) or overlay(name))
    with pytest.raises(ValueError, match="noSuchField"):
        type_tables(definitions())
