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


class _SpecText(msgspec.Struct, gc=False):
    spec: Raw


class _Status(msgspec.Struct, rename="camel", gc=False):
    accepted_names: dict[str, Any] | None = None


class _AcceptedNames(msgspec.Struct, gc=False):
    status: _Status | None = None


_decode_outline: Final = msgspec.json.Decoder(_Outline).decode
_decode_spec_text: Final = msgspec.json.Decoder(_SpecText).decode
_decode_accepted_names: Final = msgspec.json.Decoder(_AcceptedNames).decode


def outline_of(raw: bytes) -> Tree:
    """Return a stored definition; of its schemas only the default of the status. Raises ``msgspec.MsgspecError``."""
    outline: Tree = msgspec.to_builtins(_decode_outline(raw))
    return outline


def accepted_names(raw: bytes) -> Tree:
    """Return ``status.acceptedNames`` of a stored definition. Raises ``msgspec.MsgspecError``."""
    status = _decode_accepted_names(raw).status
    return (status.accepted_names if status is not None else None) or {}


def have_equal_specs(one: bytes, other: bytes) -> bool:
    """Report whether two stored definitions have the same spec, whatever the order of keys."""
    specs = _decode_spec_text(one).spec, _decode_spec_text(other).spec
    return bytes(specs[0]) == bytes(specs[1]) or _canonical(specs[0]) == _canonical(specs[1])


def _canonical(text: Raw) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(text), order="deterministic")
