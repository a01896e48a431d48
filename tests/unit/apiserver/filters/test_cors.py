"""Cross-origin requests."""

import pytest

from steersman.apiserver.filters import cors as module
from steersman.apiserver.filters.cors import check_origin_pattern, cors
from steersman.apiserver.http import Request, Response

ORIGIN = b"https://dashboard.example.com:8443"
PATTERNS = ["//localhost(:|$)", r"^https://[^.]+\.example\.com(:\d+)?$"]


def request(origin: bytes = ORIGIN, method: str = "GET") -> Request:
    headers = [(b"origin", origin)] if origin else []
    return Request({"method": method, "path": "/", "query_string": b"", "headers": headers}, receive=lambda: None)


async def forbidden(_: Request) -> Response:
    return Response(403, b"{}")


def allowed(response: Response) -> dict[bytes, bytes]:
    return {name: value for name, value in response.headers if name.startswith(b"access-control-")}


async def test_allowed_origin_gets_upstreams_headers_also_with_an_error():
    response = await cors(PATTERNS)(forbidden)(request())
    assert response.code == 403
    assert allowed(response) == {
        b"access-control-allow-origin": ORIGIN,
        b"access-control-allow-methods": b"POST, GET, OPTIONS, PUT, DELETE, PATCH",
        b"access-control-allow-headers": b"Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, "
        b"X-Requested-With, If-Modified-Since",
        b"access-control-expose-headers": b"Date",
        b"access-control-allow-credentials": b"true",
    }


async def test_preflight_request_is_answered_without_authentication():
    response = await cors(PATTERNS)(forbidden)(request(method="OPTIONS"))
    assert (response.code, response.body) == (204, b"")
    assert allowed(response)[b"access-control-allow-origin"] == ORIGIN


@pytest.mark.parametrize("origin", [b"", b"https://example.org", b"https://dashboard.example.com.evil.org", b"null"])
@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
async def test_other_origins_get_no_headers(origin, method):
    response = await cors(PATTERNS)(forbidden)(request(origin, method))
    assert (response.code, allowed(response)) == (403, {})


@pytest.mark.interpreted
async def test_origin_that_costs_too_much_is_not_allowed(monkeypatch):
    def expensive(pattern):
        class Expensive:
            def matches(self, text):
                raise module.RegexpCostError

        return Expensive()

    monkeypatch.setattr(module, "compile_regexp", expensive)
    assert allowed(await cors(PATTERNS)(forbidden)(request())) == {}


@pytest.mark.parametrize("pattern", [*PATTERNS, "^http://a$", "://a:"])
def test_pinned_patterns_are_valid(pattern):
    check_origin_pattern(pattern)


@pytest.mark.parametrize("pattern", ["example.com", "^example", "example$"])
def test_pattern_that_does_not_pin_the_host_is_rejected(pattern):
    with pytest.raises(ValueError, match="does not pin to start/end of host in the origin header"):
        check_origin_pattern(pattern)
