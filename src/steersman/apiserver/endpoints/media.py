"""Media types of request bodies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import StatusError, unsupported_media_type

if TYPE_CHECKING:
    from steersman.apiserver.http import Request

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
CBOR: Final = "application/cbor"
#: Media types that take a multiple of the time of JSON to decode.
SLOW: Final = frozenset({YAML, CBOR})

#: A token of RFC 2045.
_NAME: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
#: One parameter of a media type with what separates it from the parameter before.
_PARAMETER: Final = re.compile(rf'\s*;\s*({_NAME})\s*=\s*(?:{_NAME}|"(?:[^"\\]|\\.)*")')


def body_media_type(request: Request, *, is_custom: bool = False) -> str:
    """Return ``JSON``, ``YAML``, ``PROTOBUF`` (not for custom kinds), or ``CBOR`` if it is offered; JSON for a body without a
    media type. Raises 415 for others.
    """
    header = request.header(b"content-type")
    if not header or header == JSON:
        return JSON
    media_type, separator, _ = header.partition(";")
    media_type = media_type.strip().lower()
    if separator and not _has_valid_parameters(header):
        raise _unsupported(request, is_custom=is_custom)
    if media_type in (JSON, YAML) or (media_type == PROTOBUF and not is_custom):
        return media_type
    if media_type == CBOR and request.offers_cbor:
        return media_type
    raise _unsupported(request, is_custom=is_custom)


def _has_valid_parameters(header: str) -> bool:
    """Report whether all parameters have values and different names. Upstream: Go's ``mime.ParseMediaType``."""
    names: set[str] = set()
    position = header.index(";")
    while match := _PARAMETER.match(header, position):
        name = match[1].lower()
        if name in names:
            return False
        names.add(name)
        position = match.end()
    return header[position:].strip() in ("", ";")


def _unsupported(request: Request, *, is_custom: bool) -> StatusError:
    supported = (JSON, YAML) if is_custom else (JSON, YAML, PROTOBUF)
    return unsupported_media_type((*supported, CBOR) if request.offers_cbor else supported)
