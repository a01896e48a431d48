"""CBOR in requests and responses (feature gate ``CBORServingAndStorage``).

Upstream: the ``serializer.WithSerializer(cbor.NewSerializerInfo)`` of ``NewDefaultAPIGroupInfo``
(``staging/src/k8s.io/apiserver/pkg/server/genericapiserver.go``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from steersman.apiserver.http import Handler, Request, Response


def offer_cbor(handler: Handler) -> Handler:
    """Offer CBOR to all requests. The filter must be the outermost: it also applies to errors of other filters."""

    def filtered(request: Request) -> Awaitable[Response]:
        request.offers_cbor = True
        return handler(request)

    return filtered
