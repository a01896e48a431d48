"""JSON Schema definitions of types, in the dialect of either OpenAPI version."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from steersman.apimachinery.typemodel import Field, ListOf, ListType, MapOf, Scalar, ScalarKind, Struct
from steersman.apiserver.openapi.custom_schemas import publish_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steersman.apimachinery.trees import Tree
    from steersman.apimachinery.typemodel import Type
    from steersman.schema.resources import Resource

GVK = tuple[str, str, str]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
#: Kind whose descriptions of ``apiVersion``, ``kind`` and ``metadata`` apply to all kinds.
_TYPICAL = "io.k8s.api.core.v1.Namespace"
#: Scalars with own definitions in upstream's documents.
_NAMED: dict[ScalarKind, tuple[str, Tree]] = {
    ScalarKind.TIME: (_META + "Time", {"type": "string", "format": "date-time"}),
    ScalarKind.MICRO_TIME: (_META + "MicroTime", {"type": "string", "format": "date-time"}),
    ScalarKind.QUANTITY: ("io.k8s.apimachinery.pkg.api.resource.Quantity", {"type": "string"}),
    ScalarKind.INT_OR_STRING: (
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        {"type": "string", "format": "int-or-string"},
    ),
    ScalarKind.RAW: ("io.k8s.apimachinery.pkg.runtime.RawExtension", {"type": "object"}),
    ScalarKind.ANY: (_EXTENSIONS + "JSON", {"description": "Any JSON value."}),
    ScalarKind.SCHEMA_OR_BOOL: (_EXTENSIONS + "JSONSchemaPropsOrBool", {"description": "A schema or a boolean."}),
    ScalarKind.SCHEMA_OR_ARRAY: (
        _EXTENSIONS + "JSONSchemaPropsOrArray",
        {"description": "A schema or a list of schemas."},
    ),
    ScalarKind.SCHEMA_OR_STRINGS: (
        _EXTENSIONS + "JSONSchemaPropsOrStringArray",
        {"description": "A schema or a list of names."},
    ),
}
#: The only type whose field of kind ``any`` is an object.
_FIELDS_OWNER = _META + "ManagedFieldsEntry"
_FIELDS = (_META + "FieldsV1", {"type": "object"})
_PLAIN: dict[ScalarKind, Tree] = {
    ScalarKind.STRING: {"type": "string"},
    ScalarKind.INT32: {"type": "integer", "format": "int32"},
    ScalarKind.INT64: {"type": "integer", "format": "int64"},
    ScalarKind.NUMBER: {"type": "number", "format": "double"},
    ScalarKind.BOOLEAN: {"type": "boolean"},
    ScalarKind.BYTES: {"type": "string", "format": "byte"},
    ScalarKind.DURATION: {"type": "string"},
}


class Describe(Protocol):
    """Return the description of a definition and those of its fields by name."""

    def __call__(self, definition: str) -> tuple[str, dict[str, str]]: ...


class Dialect:
    """Differences between definitions of the two OpenAPI versions."""

    def __init__(self, *, v3: bool) -> None:
        self.v3 = v3
        self.prefix = "#/components/schemas/" if v3 else "#/definitions/"

    def reference(self, name: str, description: str = "", *, default: bool = False) -> Tree:
        """Return a reference with a description, which a plain ``$ref`` cannot have in version 3."""
        target = {"$ref": self.prefix + name}
        if not self.v3:
            return ({"description": description} if description else {}) | target
        extra: Tree = {"description": description} if description else {}
        if default:
            extra["default"] = {}
        return extra | {"allOf": [target]} if extra else target


class _References(NamedTuple):
    """Types and named scalars referenced by a definition."""

    definition: str
    structs: list[Struct]
    #: Forms by name.
    scalars: dict[str, Tree]


class _Rendered(NamedTuple):
    """Encoded definition and its references."""

    encoded: bytes
    structs: tuple[Struct, ...]
    scalars: dict[str, Tree]


class Library:
    """Cache of encoded definitions shared by the documents of a dialect: types that are no kinds.

    Bounded by the number of built-in types.
    """

    def __init__(self, dialect: Dialect, describe: Describe) -> None:
        self.dialect = dialect
        self.describe = describe
        self.structs: dict[str, _Rendered] = {}
        self.scalars: dict[str, bytes] = {}

    def type_meta(self) -> Tree:
        """Return the schemas of ``apiVersion`` and ``kind``."""
        texts = self.describe(_TYPICAL)[1]
        return {
            name: {"type": "string", **({"description": texts[name]} if name in texts else {})}
            for name in ("apiVersion", "kind")
        }

    def encode_custom(self, schema: Tree, gvk: GVK, selectable_fields: Sequence[str] = ()) -> bytes:
        """Return the published definition of a custom kind: its schema with the fields of every object."""
        text = self.describe(_TYPICAL)[1].get("metadata", "")
        fields = {**self.type_meta(), "metadata": self.dialect.reference(f"{_META}ObjectMeta", text)}
        published = publish_schema(schema, fields, v3=self.dialect.v3)
        extensions: Tree = {"x-kubernetes-group-version-kind": _gvks([gvk])}
        if selectable_fields:
            paths = [{"fieldPath": path.removeprefix(".")} for path in selectable_fields]
            extensions["x-kubernetes-selectable-fields"] = paths
        return msgspec.json.encode({**published, **extensions})


class Definitions:
    """Collector of the encoded definitions of a document and of all types they reference."""

    def __init__(self, library: Library, *, kinds: dict[str, list[GVK]]) -> None:
        self._library = library
        self._dialect = library.dialect
        self._describe = library.describe
        #: Definition → its kinds (``x-kubernetes-group-version-kind``).
        self._kinds = kinds
        #: Definition → its JSON text.
        self.encoded: dict[str, bytes] = {}

    def add(self, struct: Struct) -> None:
        """Add a type and all referenced types. Iterative, as types may be recursive."""
        waiting: list[Struct] = [struct]
        while waiting:
            current = waiting.pop()
            if current.name in self.encoded:
                continue
            rendered = self._library.structs.get(current.name)
            if rendered is None or current.name in self._kinds:
                rendered = self._render(current)
                if current.name not in self._kinds:
                    self._library.structs[current.name] = rendered
            self.encoded[current.name] = rendered.encoded
            waiting += rendered.structs
            for name, form in rendered.scalars.items():
                self._add_named_scalar(name, form)

    def add_patch(self, name: str) -> None:
        """Add the definition of PATCH bodies."""
        text = "Patch is the body of a PATCH request, in the form that its content type says."
        self.encoded[name] = msgspec.json.encode({"description": text, "type": "object"})

    def add_list(self, struct: Struct, gvk: GVK, *, meta: Struct) -> None:
        """Add the list type of a kind."""
        self.add(struct)
        self.add(meta)
        group, version, kind = gvk
        type_meta = self._library.type_meta()
        definition = {
            "description": f"{kind}List is a list of {kind} objects.",
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": type_meta["apiVersion"],
                "items": {
                    "type": "array",
                    "description": "The objects of the list.",
                    "items": self._dialect.reference(struct.name, default=True),
                },
                "kind": type_meta["kind"],
                "metadata": self._dialect.reference(meta.name, "Standard list metadata.", default=True),
            },
            "x-kubernetes-group-version-kind": _gvks([(group, version, kind + "List")]),
        }
        self.encoded[struct.name + "List"] = msgspec.json.encode(definition)

    def add_custom_list(self, definition: str, resource: Resource, *, meta: Struct) -> None:
        """Add the list type of a custom kind with this definition. Upstream: ``buildListSchema``."""
        self.add(meta)
        type_meta = self._library.type_meta()
        items = self._dialect.reference(definition)
        schema = {
            "description": f"{resource.list_kind} is a list of {resource.kind}",
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": type_meta["apiVersion"],
                "items": {"description": f"List of {resource.name}.", "type": "array", "items": items},
                "kind": type_meta["kind"],
                "metadata": self._dialect.reference(meta.name, "Standard list metadata."),
            },
            "x-kubernetes-group-version-kind": _gvks([(resource.group, resource.version, resource.list_kind)]),
        }
        self.encoded[definition.removesuffix(resource.kind) + resource.list_kind] = msgspec.json.encode(schema)

    def _render(self, struct: Struct) -> _Rendered:
        references = _References(struct.name, [], {})
        encoded = msgspec.json.encode(self._struct(struct, references))
        return _Rendered(encoded, tuple(references.structs), references.scalars)

    def _struct(self, struct: Struct, references: _References) -> Tree:
        text, texts = self._describe(struct.name)
        definition: Tree = {"description": text} if text else {}
        definition["type"] = "object"
        if struct.fields:
            definition["properties"] = {
                name: self._field(field, texts.get(name, ""), references) for name, field in struct.fields.items()
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

    def _field(self, field: Field, description: str, references: _References) -> Tree:
        if isinstance(field.type, Struct) and field.keep_zero:  # a pointer, which has no default
            references.structs.append(field.type)
            schema = self._dialect.reference(field.type.name, description)
        else:
            schema = self._type(field.type, references, description=description)
        if field.default is not None and "$ref" not in schema and "allOf" not in schema:
            schema["default"] = field.default
        if field.patch_strategies:
            schema["x-kubernetes-patch-strategy"] = ",".join(field.patch_strategies)
        if field.patch_merge_key:
            schema["x-kubernetes-patch-merge-key"] = field.patch_merge_key
        return schema

    def _type(self, type_: Type, references: _References, *, description: str = "") -> Tree:
        about: Tree = {"description": description} if description else {}
        match type_:
            case Scalar():
                return self._scalar(type_, description, references)
            case Struct():
                references.structs.append(type_)
                return self._dialect.reference(type_.name, description, default=True)
            case MapOf():
                schema = about | {"type": "object", "additionalProperties": self._type(type_.value, references)}
                if type_.atomic:
                    schema["x-kubernetes-map-type"] = "atomic"
                return schema
            case ListOf():
                schema = about | {"type": "array", "items": self._type(type_.item, references)}
                schema["x-kubernetes-list-type"] = type_.list_type.value
                if type_.list_type is ListType.MAP:
                    schema["x-kubernetes-list-map-keys"] = list(type_.keys)
                return schema

    def _scalar(self, scalar: Scalar, description: str, references: _References) -> Tree:
        named = _NAMED.get(scalar.kind)
        if named is not None:
            name, form = _FIELDS if scalar.kind is ScalarKind.ANY and references.definition == _FIELDS_OWNER else named
            references.scalars[name] = form
            return self._dialect.reference(name, description)
        schema: Tree = ({"description": description} if description else {}) | _PLAIN[scalar.kind]
        if scalar.enum:
            schema["enum"] = list(scalar.enum)
        return schema

    def _add_named_scalar(self, name: str, form: Tree) -> None:
        encoded = self._library.scalars.get(name)
        if encoded is None:
            encoded = self._library.scalars[name] = msgspec.json.encode(self._named_scalar(name, form))
        self.encoded[name] = encoded

    def _named_scalar(self, name: str, schema: Tree) -> Tree:
        text = self._describe(name)[0]
        definition: Tree = {"description": text} if text else {}
        if not self._dialect.v3:
            return definition | schema
        # version 3 can express quantities and int-or-strings as a choice
        if name.endswith(".Quantity"):
            return definition | {"oneOf": [{"type": "string"}, {"type": "number"}]}
        if name.endswith(".IntOrString"):
            return definition | {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}
        return definition | schema


def _gvks(kinds: Iterable[GVK]) -> list[Tree]:
    return [{"group": group, "kind": kind, "version": version} for group, version, kind in kinds]
