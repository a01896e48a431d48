"""Media types of request bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.errors import StatusError, unsupported_media_type

if TYPE_CHECKING:
    from steersman.apiserver.http import Request

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"


def body_media_type(request: Request, *, is_custom: bool = False) -> str:
    """Return ``JSON``, ``YAML`` or ``PROTOBUF`` (not for custom kinds); JSON for a body without a media type. Raises 415 for others."""
    header = request.header(b"content-type")
    if not header or header == JSON:
        return JSON
    media_type = header.partition(";")[0].strip().lower()
    if media_type in (JSON, YAML) or (media_type == PROTOBUF and not is_custom):
        return media_type
    raise _unsupported(is_custom=is_custom)


def _unsupported(*, is_custom: bool) -> StatusError:
    return unsupported_media_type((JSON, YAML) if is_custom else (JSON, YAML, PROTOBUF))
