"""Answers of the proxy without a backend."""

from random import Random
from types import SimpleNamespace

from steersman.apiserver.aggregation.proxy import AggregatorProxy, plain


def test_plain_is_gos_http_error():
    response = plain(503, "service unavailable")
    assert response.body == b"service unavailable\n"
    assert (b"content-type", b"text/plain; charset=utf-8") in response.headers


async def test_unavailable_backend_receives_no_request():
    response = await AggregatorProxy(dice=Random(1)).serve(SimpleNamespace(), SimpleNamespace(is_available=False))
    assert (response.code, response.body) == (503, b"service unavailable\n")
