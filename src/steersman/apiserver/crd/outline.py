"""Outline of a stored CustomResourceDefinition: what is needed to serve it, decoded without its schemas.

Schemas are nearly all of a definition's bytes. They are decoded on the first request for the resource (``lazy_schema``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

if TYPE_CHECKING:
    from steersman.apimachinery.trees import Tree


class _StatusSchema(msgspec.Struct, gc=False):
    default: Any = UNSET


class _Properties(msgspec.Struct, gc=False):
    status: _StatusSchema | UnsetType | None = UNSET


class _ObjectSchema(msgspec.Struct, gc=False):
    properties: _Properties | UnsetType | None = UNSET


class _Validation(msgspec.Struct, rename={"schema": "openAPIV3Schema"}, gc=False):
    schema: _ObjectSchema | UnsetType | None = UNSET


class _Version(msgspec.Struct, rename="camel", gc=False):
    name: Any = UNSET
    served: Any = UNSET
    storage: Any = UNSET
    deprecated: Any = UNSET
    deprecation_warning: Any = UNSET
    schema: _Validation | UnsetType | None = UNSET
    subresources: Any = UNSET
    additional_printer_columns: Any = UNSET
    selectable_fields: Any = UNSET


class _Spec(msgspec.Struct, rename="camel", gc=False):
    versions: list[_Version]
    group: Any = UNSET
    names: Any = UNSET
    scope: Any = UNSET
    conversion: Any = UNSET
    preserve_unknown_fields: Any = UNSET


class _Outline(msgspec.Struct, gc=False):
    metadata: Any
    spec: _Spec
    status: Any = UNSET


class _Status(msgspec.Struct, rename="camel", frozen=True, gc=False):
    accepted_names: Raw = Raw(b"null")


class _ServedFields(msgspec.Struct, gc=False):
    spec: Raw = Raw(b"null")
    status: _Status | None = None


_NO_STATUS: Final = _Status()
_decode_outline: Final = msgspec.json.Decoder(_Outline).decode
_decode_served_fields: Final = msgspec.json.Decoder(_ServedFields).decode


def outline_of(raw: bytes) -> Tree:
    """Return a stored definition; of its schemas only the default of the status. Raises ``msgspec.MsgspecError``."""
    outline: Tree = msgspec.to_builtins(_decode_outline(raw))
    return outline


def is_served_alike(old: bytes, new: bytes) -> bool:
    """Report whether two stored states of a definition are equal in what affects serving: spec and accepted names."""
    before, after = _decode_served_fields(old), _decode_served_fields(new)
    return _are_equal(before.spec, after.spec) and _are_equal(_accepted_names(before), _accepted_names(after))


def accepted_names(raw: bytes) -> Tree:
    """Return ``status.acceptedNames`` of a stored definition. Raises ``msgspec.MsgspecError``."""
    names: Tree | None = msgspec.json.decode(_accepted_names(_decode_served_fields(raw)))
    return names or {}


def _accepted_names(fields: _ServedFields) -> Raw:
    return (fields.status or _NO_STATUS).accepted_names


def _are_equal(one: Raw, other: Raw) -> bool:
    return bytes(one) == bytes(other) or _canonical(one) == _canonical(other)


def _canonical(text: Raw) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(text), order="deterministic")
