"""Type tables: one per group and version, a row per struct, in the format of `steersman.schema.loader`.

A row is `[fields, attributes]`; a field `[name, type, flags]` or `[name, type, flags, extras]`. Types are a scalar kind
("string"), a struct ("#Name" of the same table, "#io.k8s…Name" of another), `["list", item, …]` or `["map", value, …]`.
Flags: `r` OpenAPI lists it as required, `w` Go writes it even when empty, `p` Go holds a pointer, `z` Go drops a
zero struct (`omitzero`).
"""

from __future__ import annotations

from typing import Any

from codegen.gofacts import flags_of
from codegen.sources import overlay

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

#: Definitions that are leaves.
LEAVES = {
    META + "Time": "time",
    META + "MicroTime": "micro-time",
    META + "FieldsV1": "any",
    META + "Patch": "any",
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "raw",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    SCHEMA + "JSON": "any",
    SCHEMA + "JSONSchemaPropsOrArray": "schema-or-array",
    SCHEMA + "JSONSchemaPropsOrBool": "schema-or-bool",
    SCHEMA + "JSONSchemaPropsOrStringArray": "schema-or-strings",
}
FORMATS = {("integer", "int64"): "int64", ("integer", "int32"): "int32", ("string", "byte"): "bytes"}
SIMPLE = {"string": "string", "integer": "int64", "number": "number", "boolean": "boolean"}
#: Modules kept in full in addition to the served groups.
ALWAYS = (META, "io.k8s.apimachinery.pkg.version.")

Definition = dict[str, Any]
GroupVersionKind = tuple[str, str, str]


def kinds_of(definitions: dict[str, Definition]) -> dict[GroupVersionKind, str]:
    """Return group, version and kind → definition."""
    return {
        (gvk["group"], gvk["version"], gvk["kind"]): name
        for name, definition in definitions.items()
        for gvk in definition.get("x-kubernetes-group-version-kind", ())
    }


def type_tables(definitions: dict[str, Definition]) -> dict[str, dict[str, Any]]:
    """Return table name (`apps_v1`) → type name → row, for all served groups."""
    served = {(group["name"], version) for group in overlay("resources")["groups"] for version in group["versions"]}
    modules = {
        name.rpartition(".")[0] + "."
        for (group, version, _), name in kinds_of(definitions).items()
        if (group, version) in served
    }
    prefixes = tuple(modules | set(ALWAYS))
    facts = overlay("fields")
    defaults = overlay("key_defaults")
    tables: dict[str, dict[str, Any]] = {}
    for name, definition in sorted(definitions.items()):
        if name.startswith(prefixes) and name not in LEAVES:
            module, _, short = name.rpartition(".")
            table = tables.setdefault(table_name(module), {})
            table[short] = _row(name, definition, go=facts.get(f"{table_name(module)}.{short}", {}), defaults=defaults)
    _check_overlay(facts, tables)
    return tables


def table_name(module: str) -> str:
    """Return the table name of a module: `io.k8s.api.apps.v1` → `apps_v1`."""
    return "_".join(module.split(".")[-2:]).replace("-", "_")


def _check_overlay(facts: dict[str, Any], tables: dict[str, dict[str, Any]]) -> None:
    """Raise ValueError for an overlay entry without a type."""
    for type_name, by_flag in facts.items():
        table, _, short = type_name.partition(".")
        field_names = {field[0] for field in tables[table][short][0]}
        named = {field for fields in by_flag.values() for field in fields}
        if named - field_names:
            raise ValueError(f"overlay/fields.yaml: {type_name} has no {sorted(named - field_names)}")


def _row(name: str, definition: Definition, *, go: dict[str, list[str]], defaults: dict[str, Any]) -> list[Any]:
    required = definition.get("required", ())
    fields = []
    for field, schema in definition.get("properties", {}).items():
        type_ = _type(name.rpartition(".")[0], schema, defaults=defaults)
        flags = flags_of(field, type_, required=field in required, go=go)
        extras = _extras(schema)
        fields.append([field, type_, flags, extras] if extras else [field, type_, flags])
    attributes = {"atomic": True} if definition.get("x-kubernetes-map-type") == "atomic" else {}
    return [fields, attributes] if attributes else [fields]


def _extras(schema: Definition) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    if strategy := schema.get("x-kubernetes-patch-strategy"):
        extras["patch"] = strategy.split(",")
    if key := schema.get("x-kubernetes-patch-merge-key"):
        extras["key"] = key
    if schema.get("x-kubernetes-map-type") == "granular" and "$ref" in schema:
        extras["granular"] = True
    return extras


def _type(module: str, schema: Definition, *, defaults: dict[str, Any]) -> Any:
    if reference := schema.get("$ref"):
        target = reference.rpartition("/")[2]
        if leaf := LEAVES.get(target):
            return leaf
        target_module, _, short = target.rpartition(".")
        return f"#{short}" if target_module == module else f"#{target}"
    kind = _json_type(schema)
    if kind == "array":
        return _list(module, schema, defaults=defaults)
    if kind == "object":
        value = _type(module, schema["additionalProperties"], defaults=defaults)
        return ["map", value, True] if schema.get("x-kubernetes-map-type") == "atomic" else ["map", value]
    return FORMATS.get((kind, schema.get("format", ""))) or SIMPLE[kind]


def _json_type(schema: Definition) -> str:
    kind = schema["type"]
    return kind if isinstance(kind, str) else next(name for name in kind if name != "null")


def _list(module: str, schema: Definition, *, defaults: dict[str, Any]) -> list[Any]:
    item = _type(module, schema["items"], defaults=defaults)
    row = ["list", item]
    list_type = schema.get("x-kubernetes-list-type", "atomic")
    keys = schema.get("x-kubernetes-list-map-keys", [])
    if list_type != "atomic":
        row.append(list_type)
    if keys:
        row.append(keys)
    owner = item.removeprefix("#") if isinstance(item, str) else ""
    key_defaults = {key: value for key, value in defaults.get(owner, {}).items() if key in keys}
    if key_defaults:
        row.append(key_defaults)
    return row
