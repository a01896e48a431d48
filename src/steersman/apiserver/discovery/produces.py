"""Check of the ``Accept`` header by produced media types, which go-restful performs before handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steersman.apimachinery.errors import Reason, failure

if TYPE_CHECKING:
    from steersman.apiserver.http import Request


def require_accepted(request: Request, *media_types: str) -> None:
    """Raise 406 unless the client accepts one of ``media_types``. Parameters and weights are ignored, as upstream."""
    accept = request.header(b"accept")
    ranges = {part.partition(";")[0].strip() for part in accept.split(",")}
    if accept and ranges.isdisjoint({"*/*", *media_types}):
        message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(media_types)}"
        raise failure(406, Reason.NOT_ACCEPTABLE, message, details={})
