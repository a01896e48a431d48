"""Served resources equal recorded facts of a running Kubernetes 1.36, if these are beside the checkout."""

from pathlib import Path

import msgspec
import pytest
import yaml

from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.kinds.catalog import BuiltInKinds
from steersman.apiserver.kinds.strategies import strategy_class
from steersman.apiserver.openapi.builder import Builder
from steersman.apiserver.openapi.sources import Sources
from steersman.controlplane.options import APIServerOptions
from steersman.controlplane.runtime_config import served_resources
from steersman.schema.resources import Resource

#: Resources that are served by default.
SERVED = served_resources(APIServerOptions())

FACTS = Path(__file__).parents[3] / "shared" / "facts"
pytestmark = pytest.mark.skipif(not FACTS.is_dir(), reason="no recorded facts beside this checkout")

#: Parameters that the facts name; others are references there.
NAMED = {"body", "dryRun", "fieldValidation"}
#: Labels of events that were not requested when the facts were recorded.
NOT_RECORDED = {f"regarding.{name}" for name in ("apiVersion", "fieldPath", "namespace", "resourceVersion", "uid")}

LISTED = {f"{r.api_version} {r.name}": r for r in SERVED.resources if "list" in r.verbs}


def test_openapi_operations_equal_upstream():
    recorded = {tuple(line.split()) for line in (FACTS / "openapi-operations.txt").read_text().splitlines()}
    sources = Sources(Catalog(SERVED), lambda _resource: None).current().group_versions
    paths = msgspec.json.decode(b"".join(Builder(b"").swagger(sources).json))["paths"]
    served = set()
    for path, item in paths.items():
        for method, operation in item.items():
            if method != "parameters":
                hidden = {"body"} if method in ("delete", "patch") else set()
                names = {p["name"] for p in operation.get("parameters", ())} & NAMED - hidden
                row = (
                    method.upper(),
                    path,
                    operation["operationId"],
                    operation.get("x-kubernetes-action", "-"),
                    "params=" + ",".join(sorted(names)),
                    "codes=" + ",".join(sorted(operation["responses"])),
                )
                served.add(row)
    assert served == recorded


def columns_of(resource: Resource) -> list[str]:
    columns = strategy_class(resource).columns
    return [f"{c.name.replace(' ', '_')} {c.type} {c.format or '-'} {c.priority}" for c in columns]


def labels_of(resource: Resource) -> set[str]:
    strategy = strategy_class(resource)
    own = set(BuiltInKinds().field_labels(resource) or strategy.field_labels) - NOT_RECORDED
    return own | {"metadata.name"} | ({"metadata.namespace"} if strategy.namespace_field_label else set())


def test_table_columns_equal_upstream():
    recorded = yaml.safe_load((FACTS / "table-columns.yaml").read_text())
    assert {place: columns_of(resource) for place, resource in LISTED.items()} == recorded


def test_field_labels_equal_upstream():
    recorded = yaml.safe_load((FACTS / "field-selectors.yaml").read_text())
    assert {place: labels_of(resource) for place, resource in LISTED.items()} == {
        place: set(labels) for place, labels in recorded.items()
    }
