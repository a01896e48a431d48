"""Group, version and kind in a request body, and the 400s for bodies of another kind than the path asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steersman.apimachinery import errors
from steersman.apimachinery.codec import DecodeError
from steersman.apimachinery.gotext import quote

if TYPE_CHECKING:
    from steersman.apimachinery.errors import StatusError

_ENVELOPE: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)

#: Bytes of a rejected body that the response shows.
_SHOWN_BYTES: Final = 30


class TypeMeta(NamedTuple):
    """``apiVersion`` and ``kind`` of an object; both may be empty."""

    api_version: str
    kind: str

    @property
    def group(self) -> str:
        """API group; empty for the core group."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """Version without the group."""
        return self.api_version.rpartition("/")[2]


def json_type(value: Any) -> str:
    """Return the name of a decoded value's type in Go's messages."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, str):
        return "string"
    return "bool" if isinstance(value, bool) else "null" if value is None else "number"


def type_meta(tree: Any) -> TypeMeta:
    """Return the type of a decoded body; empty for ``null``. Raises ``DecodeError`` if it is not an object."""
    if tree is None:
        return TypeMeta("", "")
    if not isinstance(tree, dict):
        raise _unreadable(f"json: cannot unmarshal {json_type(tree)} into Go value of type {_ENVELOPE}")
    api_version, kind = tree.get("apiVersion", ""), tree.get("kind", "")
    api_version = "" if api_version is None else api_version
    kind = "" if kind is None else kind
    if not (isinstance(api_version, str) and isinstance(kind, str)):
        name, value = ("kind", kind) if isinstance(api_version, str) else ("apiVersion", api_version)
        raise _unreadable(f"json: cannot unmarshal {json_type(value)} into Go struct field .{name} of type string")
    if api_version.count("/") > 1:
        raise DecodeError(f"unexpected GroupVersion string: {api_version}")
    return TypeMeta(api_version, kind)


def unreadable_json(error: DecodeError) -> DecodeError:
    """Return the JSON error as object decoding reports it."""
    return _unreadable(str(error))


def _unreadable(reason: str) -> DecodeError:
    return DecodeError(f"couldn't get version/kind; json parse error: {reason}")


def unrecognized(kind: str, reason: object, raw: bytes) -> StatusError:
    """Return the 400 for a body without ``kind`` or ``apiVersion``; ``kind`` is the expected kind."""
    return errors.bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {reason} ({_summary(raw)})"
    )


def cannot_be_handled(meta: TypeMeta, kind: str, reason: object) -> StatusError:
    """Return the 400 for a body of a known type that is malformed or not the ``kind`` of the path."""
    return errors.bad_request(f"{meta.kind} in version {quote(meta.version)} cannot be handled as a {kind}: {reason}")


def _summary(raw: bytes) -> str:
    if not raw:
        return "<empty>"
    excerpt = raw[:_SHOWN_BYTES]
    text = excerpt.decode("utf-8", "replace") if raw.startswith(b"{") else excerpt.hex()
    return f"{text} ..." if len(raw) > _SHOWN_BYTES else text
