"""Health endpoints."""

import pytest

from steersman.apiserver.health.checks import Check, HealthEndpoint, Unhealthy, ping
from steersman.apiserver.http import Request


async def broken() -> None:
    raise Unhealthy("it broke")


def request(query: bytes = b"") -> Request:
    return Request({"method": "GET", "path": "/livez", "query_string": query, "headers": []}, receive=None)


WELL = HealthEndpoint("livez", [Check("ping", ping), Check("etcd", ping)])
ILL = HealthEndpoint("livez", [Check("ping", ping), Check("etcd", broken)])


@pytest.mark.parametrize("query", [b"", b"exclude=etcd", b"color=blue", b"exclude=unknown"])
async def test_success_responds_ok(query):
    response = await WELL.whole(request(query))
    assert (response.code, response.body) == (200, b"ok")
    assert response.headers[0] == (b"content-type", b"text/plain; charset=utf-8")


async def test_verbose_lists_each_check():
    response = await WELL.whole(request(b"verbose&exclude=etcd&exclude=b&exclude=a"))
    assert response.body.decode().splitlines() == [
        "[+]ping ok",
        "[+]etcd excluded: ok",
        'warn: some health checks cannot be excluded: no matches for "a", "b"',
        "livez check passed",
    ]


async def test_failure_is_verbose_and_hides_reason():
    response = await ILL.whole(request())
    assert (response.code, response.body.decode().splitlines()) == (
        500,
        ["[+]ping ok", "[-]etcd failed: reason withheld", "livez check failed"],
    )


async def test_excluded_check_does_not_fail():
    assert (await ILL.whole(request(b"exclude=etcd"))).code == 200


async def test_single_check_responds_with_reason():
    handlers = ILL.handlers()
    assert sorted(handlers) == ["/livez", "/livez/etcd", "/livez/ping"]
    assert (await handlers["/livez/ping"](request())).body == b"ok"
    failed = await handlers["/livez/etcd"](request())
    assert (failed.code, failed.body) == (500, b"internal server error: it broke\n")
