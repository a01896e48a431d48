"""Sample types: two built-in kinds, and a custom one with every type of list and map."""

from __future__ import annotations

import pytest

from steersman.apimachinery.typemodel import Field, ListOf, ListType, MapOf, Scalar, ScalarKind, Struct
from steersman.schema.loader import struct_for

TEXT = Scalar(ScalarKind.STRING)
INT = Scalar(ScalarKind.INT32)


def _struct(name: str, /, **types) -> Struct:
    return Struct(name, {field: Field(field, type_) for field, type_ in types.items()})


PORT = _struct("Port", port=INT, protocol=TEXT, name=TEXT, target=Scalar(ScalarKind.INT_OR_STRING))
PART = _struct("Part", name=TEXT, size=INT, tags=ListOf(TEXT, list_type=ListType.SET))
SPEC = _struct(
    "Spec",
    replicas=INT,
    ports=ListOf(PORT, list_type=ListType.MAP, keys=("port", "protocol"), key_defaults={"protocol": "TCP"}),
    parts=ListOf(PART, list_type=ListType.MAP, keys=("name",)),
    tags=ListOf(TEXT, list_type=ListType.SET),
    args=ListOf(TEXT),
    limits=MapOf(TEXT),
    selector=MapOf(TEXT, atomic=True),
    ref=Struct("Ref", {"name": Field("name", TEXT)}, atomic=True),
    extra=Struct("Extra", {"known": Field("known", TEXT)}, preserve_unknown=True),
    anything=Scalar(ScalarKind.ANY),
    nested=MapOf(PART),
    enabled=Scalar(ScalarKind.BOOLEAN),
    size=Scalar(ScalarKind.QUANTITY),
    since=Scalar(ScalarKind.TIME),
    raw=Scalar(ScalarKind.RAW),
)


@pytest.fixture(scope="session")
def config_map() -> Struct:
    return struct_for("", "v1", "ConfigMap")


@pytest.fixture(scope="session")
def deployment() -> Struct:
    return struct_for("apps", "v1", "Deployment")


@pytest.fixture(scope="session")
def widget() -> Struct:
    """Return a custom kind."""
    metadata = struct_for("", "v1", "ConfigMap").fields["metadata"]
    fields = {"apiVersion": Field("apiVersion", TEXT), "kind": Field("kind", TEXT), "metadata": metadata}
    return Struct("Widget", {**fields, "spec": Field("spec", SPEC), "status": Field("status", SPEC)})
