"""Compact notation for custom resource definitions, expanded to what controller-gen and its relatives publish.

A file of ``crds/`` describes one project::

    group: example.com                 # of all its kinds; a definition may have its own
    definitions:
    - kind: Widget
      versions: {v1: SCHEMA}           # the first one is the storage version
    objects: [...]                     # custom resources, to be applied
    changes: [...]                     # merge patches of those objects, in the same order

A schema is written as its value would look like:

===================================  ===================================================================================
``string``, ``int32``, ``date``, …   a scalar of that name (``SCALARS``); ``a|b|c`` is a string with an ``enum``
``{name: string, size!: int}``       an object; ``!`` marks required fields
``[string]``                         a list; ``[ITEM, {…}]`` adds to the list's own schema
``map SCALAR``                       an object with ``additionalProperties``; ``{"*": SCHEMA}`` for other values
``PodSpec``                          a built-in type, expanded with its descriptions (``BUILT_IN``)
``@name``                            a schema of the file's ``shared`` section
``{$: SCHEMA, maxLength: 253}``      the schema, and more keywords for it
``{…, $also: {…}}``                  an object, and more keywords for it
``{$with: @name, …}``                an object with the fields of another one too
===================================  ===================================================================================
"""

from __future__ import annotations

import copy
import re
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from codegen.sources import definitions

from steersman.apimachinery.trees import Tree

CRDS: Final = Path(__file__).parent / "crds"
PROJECTS: Final = tuple(sorted(path.stem for path in CRDS.glob("*.yaml")))


INT_OR_STRING: Final[Tree] = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
SCALARS: Final[dict[str, Tree]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "number": {"type": "number"},
    "bytes": {"type": "string", "format": "byte"},
    "date": {"type": "string", "format": "date-time"},
    "duration": {"type": "string", "pattern": "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"},
    "int-or-string": INT_OR_STRING,
    "quantity": {
        **INT_OR_STRING,
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    },
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "object": {"type": "object"},
    "resource": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
}
BUILT_IN: Final = {
    "Affinity": "core.v1",
    "Container": "core.v1",
    "EnvVar": "core.v1",
    "JobSpec": "batch.v1",
    "LabelSelector": "meta.v1",
    "LocalObjectReference": "core.v1",
    "PersistentVolumeClaimSpec": "core.v1",
    "PodSecurityContext": "core.v1",
    "PodSpec": "core.v1",
    "PodTemplateSpec": "core.v1",
    "ResourceRequirements": "core.v1",
    "SecretKeySelector": "core.v1",
    "Toleration": "core.v1",
    "TopologySpreadConstraint": "core.v1",
    "Volume": "core.v1",
    "VolumeMount": "core.v1",
    "Condition": "meta.v1",
}
_LEAVES: Final[dict[str, Tree]] = {
    "Quantity": SCALARS["quantity"],
    "IntOrString": INT_OR_STRING,
    "RawExtension": SCALARS["free"],
    "Time": SCALARS["date"],
    "MicroTime": SCALARS["date"],
    "FieldsV1": {"type": "object"},
    #: Fields of an embedded ``ObjectMeta`` are not generated; projects that need them preserve them.
    "ObjectMeta": SCALARS["free"],
}
_KEPT_KEYWORDS: Final = (
    "description",
    "format",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)


class Project(NamedTuple):
    """The definitions of a project, custom resources of them, and a merge patch for each resource."""

    name: str
    definitions: list[Tree]
    objects: list[Tree]
    changes: list[Tree]

    @property
    def changed_objects(self) -> list[Tree]:
        return [merged(obj, change) for obj, change in zip(self.objects, self.changes, strict=True)]


@cache
def project(name: str) -> Project:
    """Read the definitions and objects of a project."""
    file = yaml.safe_load((CRDS / f"{name}.yaml").read_text())
    shared: Tree = file.get("shared", {})
    expanded = [
        _definition(row, group=row.get("group", file.get("group")), shared=shared) for row in file["definitions"]
    ]
    return Project(name, expanded, file["objects"], file["changes"])


def all_projects() -> Project:
    """Return the definitions, objects and changes of all projects together."""
    lists = ([item for name in PROJECTS for item in project(name)[field]] for field in (1, 2, 3))
    return Project("all", *lists)


def merged(obj: Any, patch: Any) -> Any:
    """Return a JSON merge patch's result (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = copy.deepcopy(obj) if isinstance(obj, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _definition(row: Tree, *, group: str, shared: Tree) -> Tree:
    kind = row["kind"]
    plural = row.get("plural", kind.lower() + "s")
    versions = []
    for number, (version, schema) in enumerate(row["versions"].items()):
        entry: Tree = {"name": version, "served": True, "storage": number == 0}
        entry["schema"] = {"openAPIV3Schema": _root(expand(schema, shared))}
        if "status" in entry["schema"]["openAPIV3Schema"]["properties"]:
            entry["subresources"] = {"status": {}, **row.get("subresources", {})}
        if "columns" in row:
            entry["additionalPrinterColumns"] = row["columns"]
        versions.append(entry | row.get("of_versions", {}).get(version, {}))
    names = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
        **row.get("names", {}),
    }
    metadata = {"name": f"{plural}.{group}", "annotations": {"controller-gen.kubebuilder.io/version": "v0.17.2"}}
    if group.endswith(".k8s.io"):
        metadata["annotations"]["api-approved.kubernetes.io"] = (
            "https://github.com/kubernetes-sigs/gateway-api/pull/3328"
        )
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {"group": group, "names": names, "scope": row.get("scope", "Namespaced"), "versions": versions},
    }


def _root(schema: Tree) -> Tree:
    standard = {name: {"type": "string"} for name in ("apiVersion", "kind")} | {"metadata": {"type": "object"}}
    return {**schema, "properties": {**standard, **schema["properties"]}}


def expand(node: Any, shared: Tree) -> Tree:
    """Return the OpenAPI schema of a node of the notation."""
    match node:
        case str():
            return _named(node, shared)
        case [item]:
            return {"type": "array", "items": expand(item, shared)}
        case [item, more]:
            return {"type": "array", "items": expand(item, shared), **more}
        case {"$": inner, **more}:
            return {**expand(inner, shared), **more}
        case {"*": values, **more}:
            return {"type": "object", "additionalProperties": expand(values, shared), **more}
        case dict():
            return _object(node, shared)
    raise ValueError(f"no schema: {node!r}")


def _object(node: Tree, shared: Tree) -> Tree:
    if "$with" in node:
        node = {**shared[node["$with"].removeprefix("@")], **{key: node[key] for key in node if key != "$with"}}
    fields = {key: value for key, value in node.items() if key != "$also"}
    schema: Tree = {
        "type": "object",
        "properties": {key.removesuffix("!"): expand(value, shared) for key, value in fields.items()},
    }
    required = sorted(key.removesuffix("!") for key in fields if key.endswith("!"))
    if required:
        schema["required"] = required
    return {**schema, **node.get("$also", {})}


def _named(name: str, shared: Tree) -> Tree:
    if name in SCALARS:
        return copy.deepcopy(SCALARS[name])
    if name.startswith("@"):
        return expand(shared[name[1:]], shared)
    if name.startswith("map "):
        return {"type": "object", "additionalProperties": expand(name[4:], shared)}
    if name in BUILT_IN:
        schema = copy.deepcopy(_built_in(name))
        if name == "LocalObjectReference":
            schema["properties"]["name"]["default"] = ""  # as controller-gen marks it, for lists with keys
        return schema
    if "|" in name:
        return {"type": "string", "enum": name.split("|")}
    raise ValueError(f"no type {name!r}")


@cache
def _built_in(name: str) -> Tree:
    suffix = f".{BUILT_IN[name]}.{name}"
    return _inlined(next(schema for key, schema in definitions_by_name().items() if key.endswith(suffix)))


def _inlined(schema: Tree) -> Tree:
    """Return a published schema without references, as controller-gen writes it."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    if reference:
        leaf = _LEAVES.get(reference.rpartition(".")[2])
        inner = copy.deepcopy(leaf) if leaf is not None else _inlined(definitions_by_name()[reference])
        return inner | {key: schema[key] for key in ("description",) if key in schema}
    out: Tree = {key: schema[key] for key in _KEPT_KEYWORDS if key in schema}
    if "description" in out:
        out["description"] = re.sub(r"\s+", " ", out["description"])
    kind = schema["type"]
    out["type"] = kind if isinstance(kind, str) else next(item for item in kind if item != "null")
    if "properties" in schema:
        out["properties"] = {key: _inlined(value) for key, value in schema["properties"].items()}
        for value in out["properties"].values():
            _complete_keys(value)
    if "items" in schema:
        out["items"] = _inlined(schema["items"])
    if "additionalProperties" in schema:
        out["additionalProperties"] = _inlined(schema["additionalProperties"])
    return out


def _complete_keys(schema: Tree) -> None:
    """Give the keys of a list map a default or make them required, as structural schemas need it."""
    keys = schema.get("x-kubernetes-list-map-keys", ())
    if not keys:
        return
    item = schema["items"]
    for key in keys:
        if key == "protocol":
            item["properties"][key]["default"] = "TCP"
        elif key not in item.get("required", ()):
            item["required"] = [*item.get("required", ()), key]


@cache
def definitions_by_name() -> dict[str, Tree]:
    """Return the published definitions of built-in types."""
    return definitions()
