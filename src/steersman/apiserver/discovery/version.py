"""``/version``: the Kubernetes version, as clients parse it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steersman.apimachinery.build_info import version_document
from steersman.apiserver.discovery.produces import require_accepted
from steersman.apiserver.http import Response

if TYPE_CHECKING:
    from steersman.apiserver.http import Request


class VersionEndpoint:
    """Endpoint with a constant document."""

    def __init__(self) -> None:
        self._body = msgspec.json.format(msgspec.json.encode(version_document()), indent=2)

    async def __call__(self, request: Request) -> Response:
        """Serve the document as JSON. Raises 406."""
        require_accepted(request, "application/json")
        return Response(200, self._body)
