"""Types as JSON Schema, in the dialect of either OpenAPI version, from the type model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from steersman.apimachinery.typemodel import Field, ListOf, ListType, MapOf, Scalar, ScalarKind, Struct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steersman.apimachinery.typemodel import Type

Tree = dict[str, Any]
GVK = tuple[str, str, str]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
#: Scalars that have a definition of their own in upstream's documents.
_NAMED: dict[ScalarKind, tuple[str, Tree]] = {
    ScalarKind.TIME: (_META + "Time", {"type": "string", "format": "date-time"}),
    ScalarKind.MICRO_TIME: (_META + "MicroTime", {"type": "string", "format": "date-time"}),
    ScalarKind.QUANTITY: ("io.k8s.apimachinery.pkg.api.resource.Quantity", {"type": "string"}),
    ScalarKind.INT_OR_STRING: (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"type": "string", "format": "int-or-string"},
    ),
    ScalarKind.RAW: ("io.k8s.apimachinery.pkg.runtime.RawExtension", {"type": "object"}),
}
_PLAIN: dict[ScalarKind, Tree] = {
    ScalarKind.STRING: {"type": "string"},
    ScalarKind.INT32: {"type": "integer", "format": "int32"},
    ScalarKind.INT64: {"type": "integer", "format": "int64"},
    ScalarKind.NUMBER: {"type": "number", "format": "double"},
    ScalarKind.BOOLEAN: {"type": "boolean"},
    ScalarKind.BYTES: {"type": "string", "format": "byte"},
    ScalarKind.DURATION: {"type": "string"},
    ScalarKind.ANY: {"type": "object"},
    ScalarKind.SCHEMA_OR_BOOL: {},
    ScalarKind.SCHEMA_OR_ARRAY: {},
    ScalarKind.SCHEMA_OR_STRINGS: {},
}


class Describe(Protocol):
    """Where descriptions come from: definition → its own text and those of its fields."""

    def __call__(self, definition: str) -> tuple[str, dict[str, str]]: ...


class Dialect:
    """What the two OpenAPI versions write differently."""

    def __init__(self, *, v3: bool) -> None:
        self.v3 = v3
        self.prefix = "#/components/schemas/" if v3 else "#/definitions/"

    def reference(self, name: str, description: str = "", *, default: bool = False) -> Tree:
        """A reference with its own description, which plain ``$ref`` cannot carry in version 3."""
        target = {"$ref": self.prefix + name}
        if not self.v3:
            return ({"description": description} if description else {}) | target
        extra: Tree = {"description": description} if description else {}
        if default:
            extra["default"] = {}
        return extra | {"allOf": [target]} if extra else target


class Definitions:
    """Collects the definitions that a document needs, each with all that it refers to."""

    def __init__(self, dialect: Dialect, describe: Describe, *, kinds: dict[str, list[GVK]]) -> None:
        self.dialect = dialect
        self._describe = describe
        #: Definition → the kinds it is the type of (``x-kubernetes-group-version-kind``).
        self._kinds = kinds
        self.found: dict[str, Tree] = {}

    def add(self, struct: Struct) -> None:
        """Add a type and everything in it (without recursion: some types hold themselves)."""
        waiting: list[Struct] = [struct]
        while waiting:
            current = waiting.pop()
            if current.name not in self.found:
                self.found[current.name] = self._struct(current, waiting)

    def add_list(self, struct: Struct, gvk: GVK, *, meta: Struct) -> None:
        """Add the list type of a kind, which is the same for all kinds but for the items."""
        self.add(struct)
        self.add(meta)
        group, version, kind = gvk
        self.found[struct.name + "List"] = {
            "description": f"{kind}List is a list of {kind} objects.",
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string", "description": _API_VERSION},
                "items": {
                    "type": "array",
                    "description": "The objects of the list.",
                    "items": self.dialect.reference(struct.name, default=True),
                },
                "kind": {"type": "string", "description": _KIND},
                "metadata": self.dialect.reference(meta.name, "Standard list metadata.", default=True),
            },
            "x-kubernetes-group-version-kind": _gvks([(group, version, kind + "List")]),
        }

    def _struct(self, struct: Struct, waiting: list[Struct]) -> Tree:
        text, texts = self._describe(struct.name)
        definition: Tree = {"description": text} if text else {}
        definition["type"] = "object"
        if struct.fields:
            definition["properties"] = {
                name: self._field(field, texts.get(name, ""), waiting) for name, field in struct.fields.items()
            }
        required = sorted(name for name, field in struct.fields.items() if field.mandatory)
        if required:
            definition["required"] = required
        if struct.atomic:
            definition["x-kubernetes-map-type"] = "atomic"
        if struct.preserve_unknown:
            definition["x-kubernetes-preserve-unknown-fields"] = True
        if struct.name in self._kinds:
            definition["x-kubernetes-group-version-kind"] = _gvks(self._kinds[struct.name])
        return definition

    def _field(self, field: Field, description: str, waiting: list[Struct]) -> Tree:
        schema = self._type(field.type, waiting, description=description)
        if field.default is not None and "$ref" not in schema and "allOf" not in schema:
            schema["default"] = field.default
        if field.patch_strategies:
            schema["x-kubernetes-patch-strategy"] = ",".join(field.patch_strategies)
        if field.patch_merge_key:
            schema["x-kubernetes-patch-merge-key"] = field.patch_merge_key
        return schema

    def _type(self, type_: Type, waiting: list[Struct], *, description: str = "") -> Tree:
        about: Tree = {"description": description} if description else {}
        match type_:
            case Scalar():
                return self._scalar(type_, description)
            case Struct():
                waiting.append(type_)
                return self.dialect.reference(type_.name, description, default=True)
            case MapOf():
                schema = about | {"type": "object", "additionalProperties": self._type(type_.value, waiting)}
                if type_.atomic:
                    schema["x-kubernetes-map-type"] = "atomic"
                return schema
            case ListOf():
                schema = about | {"type": "array", "items": self._type(type_.item, waiting)}
                schema["x-kubernetes-list-type"] = type_.list_type.value
                if type_.list_type is ListType.MAP:
                    schema["x-kubernetes-list-map-keys"] = list(type_.keys)
                return schema

    def _scalar(self, scalar: Scalar, description: str) -> Tree:
        named = _NAMED.get(scalar.kind)
        if named is not None:
            name, form = named
            if name not in self.found:
                self.found[name] = self._named_scalar(name, form)
            return self.dialect.reference(name, description)
        schema: Tree = ({"description": description} if description else {}) | _PLAIN[scalar.kind]
        if scalar.enum:
            schema["enum"] = list(scalar.enum)
        return schema

    def _named_scalar(self, name: str, schema: Tree) -> Tree:
        text = self._describe(name)[0]
        definition: Tree = {"description": text} if text else {}
        if not self.dialect.v3:
            return definition | schema
        # version 3 can say that a quantity or an int-or-string may be either
        if name.endswith(".Quantity"):
            return definition | {"oneOf": [{"type": "string"}, {"type": "number"}]}
        if name.endswith(".IntOrString"):
            return definition | {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}
        return definition | schema


_API_VERSION = "The versioned schema of this representation of an object."
_KIND = "The REST resource that this object represents."


def _gvks(kinds: Iterable[GVK]) -> list[Tree]:
    return [{"group": group, "kind": kind, "version": version} for group, version, kind in kinds]
