"""Type model of API objects, for built-in kinds (generated tables) and custom ones (OpenAPI schemas of CRDs).

Decoding, pruning, strategic merge, server-side apply and OpenAPI walk these classes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, TypeAlias


class ScalarKind(StrEnum):
    """Wire type of a leaf."""

    STRING = "string"
    INT32 = "int32"
    INT64 = "int64"
    NUMBER = "number"
    BOOLEAN = "boolean"
    #: base64 text (Go ``[]byte``)
    BYTES = "bytes"
    #: RFC 3339 seconds (``metav1.Time``)
    TIME = "time"
    #: RFC 3339 with six fraction digits (``metav1.MicroTime``)
    MICRO_TIME = "micro-time"
    DURATION = "duration"
    QUANTITY = "quantity"
    INT_OR_STRING = "int-or-string"
    #: any JSON value, unchanged (``apiextensions JSON``, ``FieldsV1``, …)
    ANY = "any"
    #: an embedded object, unchanged (``runtime.RawExtension``)
    RAW = "raw"
    #: a JSON schema, or a boolean, a list of schemas or of strings in its place (``JSONSchemaPropsOrBool``, …)
    SCHEMA_OR_BOOL = "schema-or-bool"
    SCHEMA_OR_ARRAY = "schema-or-array"
    SCHEMA_OR_STRINGS = "schema-or-strings"


class ListType(StrEnum):
    """``x-kubernetes-list-type``: merge strategy of a list in server-side apply (KEP-555)."""

    ATOMIC = "atomic"
    SET = "set"
    MAP = "map"


class Scalar:
    """Leaf."""

    __slots__ = ("enum", "has_format", "kind")

    def __init__(self, kind: ScalarKind, *, enum: tuple[str, ...] = (), has_format: bool = False) -> None:
        self.kind: Final = kind
        self.enum: Final = enum
        #: A string with a ``format`` other than ``byte``, which structured-merge-diff accepts as any scalar.
        self.has_format: Final = has_format


class ListOf:
    """Array."""

    __slots__ = ("item", "item_keys", "key_defaults", "keys", "list_type")

    def __init__(
        self,
        item: Type,
        *,
        list_type: ListType = ListType.ATOMIC,
        keys: tuple[str, ...] = (),
        key_defaults: dict[str, Any] | None = None,
    ) -> None:
        self.item = item
        self.list_type = list_type
        #: Keys of a ``map`` list's items, in the schema's order.
        self.keys = keys
        #: Defaults of key fields that an item omits (``protocol: TCP``).
        self.key_defaults = key_defaults or {}
        #: Set by ``managedfields.listkeys`` on first use; lives as long as the type.
        self.item_keys: Any = None


class MapOf:
    """Object with arbitrary keys."""

    __slots__ = ("atomic", "value")

    def __init__(self, value: Type, *, atomic: bool = False) -> None:
        self.value = value
        self.atomic = atomic


class Field:
    """Field of a struct."""

    __slots__ = (
        "default",
        "keep_zero",
        "mandatory",
        "name",
        "omit_zero",
        "patch_merge_key",
        "patch_strategies",
        "required",
        "type",
    )

    def __init__(
        self,
        name: str,
        type_: Type,
        *,
        required: bool = False,
        default: Any = None,
        keep_zero: bool = True,
        omit_zero: bool = False,
        mandatory: bool = False,
        patch_strategies: tuple[str, ...] = (),
        patch_merge_key: str = "",
    ) -> None:
        self.name = name
        self.type = type_
        #: Go writes it even if empty: no ``omitempty``, or a struct held by value, which ``omitempty`` never drops.
        self.required = required
        self.default = default
        #: An explicit zero value (0, false, "") is kept, as for a Go pointer; otherwise it reads back as absent.
        self.keep_zero = keep_zero
        #: A struct held by value that Go omits if it is zero (``omitzero``).
        self.omit_zero = omit_zero
        #: Listed under ``required`` in the published schema.
        self.mandatory = mandatory
        #: ``merge``, ``replace``, ``retainKeys`` (strategic merge patch).
        self.patch_strategies = patch_strategies
        self.patch_merge_key = patch_merge_key


class Struct:
    """Object with named fields."""

    __slots__ = (
        "atomic",
        "decoder",
        "fields",
        "go_name",
        "is_strict",
        "name",
        "preserve_unknown",
        "shape",
        "zero_value",
    )

    def __init__(
        self,
        name: str,
        fields: dict[str, Field],
        *,
        go_name: str = "",
        atomic: bool = False,
        preserve_unknown: bool = False,
    ) -> None:
        #: Name of the definition, ``io.k8s.api.core.v1.Pod``.
        self.name = name
        self.fields = fields
        #: Name in Go's decoding errors, ``Pod``.
        self.go_name = go_name or name.rpartition(".")[2]
        self.atomic = atomic
        #: Unknown fields are kept (``x-kubernetes-preserve-unknown-fields``).
        self.preserve_unknown = preserve_unknown
        #: Set by ``steersman.schema.decoding`` on first use.
        self.decoder: Any = None
        #: Set by ``managedfields`` on first use: ``shapes.object_shape``, ``shapes.is_strict``, ``zero.zero_value``.
        self.shape: Any = None
        self.is_strict: bool | None = None
        self.zero_value: dict[str, Any] | None = None


Type: TypeAlias = Scalar | ListOf | MapOf | Struct
