"""Cross-origin requests of browsers: headers for allowed origins, and the answer of preflight requests.

Upstream: ``WithCORS`` (``staging/src/k8s.io/apiserver/pkg/server/filters/cors.go``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steersman.apimachinery.regexp import RegexpCostError, compile_regexp
from steersman.apiserver.http import Response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steersman.apimachinery.regexp import Regexp
    from steersman.apiserver.http import Filter, Handler, Request

_HEADERS: Final = [
    (b"access-control-allow-methods", b"POST, GET, OPTIONS, PUT, DELETE, PATCH"),
    (
        b"access-control-allow-headers",
        b"Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since",
    ),
    (b"access-control-expose-headers", b"Date"),
    (b"access-control-allow-credentials", b"true"),
]


def check_origin_pattern(pattern: str) -> None:
    """Raise ``ValueError`` for an expression that is invalid, or that does not pin the host of an origin at both ends.

    Upstream: ``validateCorsAllowedOriginList``, since CVE-2022-1996.
    """
    compile_regexp(pattern)
    if not (("^" in pattern or "//" in pattern) and ("$" in pattern or ":" in pattern)):
        raise ValueError("regular expression does not pin to start/end of host in the origin header")


def cors(patterns: Sequence[str]) -> Filter:
    """Add the headers for origins that match a pattern, also to errors; answer their OPTIONS requests with 204.

    It is outside of authentication, as browsers send preflight requests without credentials.
    """
    compiled = [compile_regexp(pattern) for pattern in patterns]

    def wrap(handler: Handler) -> Handler:
        async def filtered(request: Request) -> Response:
            origin = request.first_headers.get(b"origin")
            if not origin or not _is_allowed(origin.decode("latin-1"), compiled):
                return await handler(request)
            response = Response(204, content_type=b"") if request.method == "OPTIONS" else await handler(request)
            response.headers += [(b"access-control-allow-origin", origin), *_HEADERS]
            return response

        return filtered

    return wrap


def _is_allowed(origin: str, patterns: Sequence[Regexp]) -> bool:
    try:
        return any(pattern.matches(origin) for pattern in patterns)
    except RegexpCostError:
        return False
