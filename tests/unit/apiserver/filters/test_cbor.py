"""The filter that offers CBOR."""

from __future__ import annotations

from tests.unit.apiserver.reading import request

from steersman.apiserver.filters.cbor import offer_cbor
from steersman.apiserver.http import Response


async def test_requests_are_offered_cbor():
    async def handler(offered):
        return Response(200 if offered.offers_cbor else 500)

    assert (await handler(request({}))).code == 500
    assert (await offer_cbor(handler)(request({}))).code == 200
